// Training steps of Llama-953M in bf16: tokens/s, MFU, and whether it learns.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "gpu_check/report.h"
#include "train/engine.h"

namespace dashlm::gpu_check {
namespace {

constexpr int64_t kSteps = 20;

RunConfig config_of(const Options& options, int64_t micro_batch) {
  std::vector<std::string> overrides = {
      "train.precision=bf16", fmt::format("train.batch={}", micro_batch),
      fmt::format("train.micro_batch={}", micro_batch), "train.lr=3e-4"};
  if (options.small) {
    overrides.insert(overrides.end(), {"model.n_layer=2", "model.d_model=32", "model.n_head=2",
                                       "model.vocab_size=96", "model.seq_len=12"});
  }
  return load_run_config(options.configs + "/llama-953m.json", overrides);
}

// Random tokens, the same ones at every step: what can be learnt of them is to know them by heart.
Batch random_batch(const RunConfig& config) {
  Batch batch{config.train.batch, config.model.seq_len, {}, {}, {}, 0};
  const CounterRandom random(1, Purpose::benchmark);
  const auto vocabulary = static_cast<uint64_t>(config.model.vocab_size);
  const auto tokens = static_cast<uint64_t>(batch.sequences * batch.seq_len);
  for (uint64_t i = 0; i < tokens; ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.below(vocabulary, i)));
    batch.targets.push_back(static_cast<int32_t>(random.below(vocabulary, i + 1)));
  }
  return batch;
}

struct Step {
  double loss = 0, passes_ms = 0, optimizer_ms = 0;

  double total_ms() const { return passes_ms + optimizer_ms; }
};

Step train_step(Engine& engine, const RunConfig& config, const Batch& batch, int64_t number) {
  const TimeMark start = engine.device().mark();
  engine.forward_backward(batch);
  const StepSums sums = engine.reduce();
  const TimeMark between = engine.device().mark();
  engine.update({.update = number,
                 .lr = config.train.lr,
                 .gradient_scale =
                     std::min(1.0, config.train.grad_clip / std::max(sums.gradient_norm, 1e-30))});
  engine.gather();
  const TimeMark end = engine.device().mark();
  return {sums.loss, between.milliseconds_since(start), end.milliseconds_since(between)};
}

void run_steps(Engine& engine, const RunConfig& config, Report& report) {
  const Batch batch = random_batch(config);
  std::vector<Step> steps;
  for (int64_t i = 1; i <= kSteps; ++i) steps.push_back(train_step(engine, config, batch, i));
  const double first = steps.front().loss, last = steps.back().loss;
  // Initial weights are small, so that at first all tokens are about as likely.
  const double uniform = std::log(static_cast<double>(config.model.vocab_size));
  report.check("loss of the first step, from ln(V)", std::abs(first - uniform), "nats", 0.5);
  report.check("loss of the last step, from that of the first", last - first, "nats", 0);
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.total_ms() < b.total_ms(); });
  const Step& median = steps[steps.size() / 2];
  const std::string what = fmt::format("micro-batch {}", config.train.micro_batch);
  report.info("step, " + what, median.total_ms(), "ms");
  report.info("forward and backward, " + what, median.passes_ms, "ms");
  report.info("AdamW on all weights", median.optimizer_ms, "ms");
  const double seconds = median.total_ms() / 1e3;
  report.info("tokens, " + what, static_cast<double>(batch.sequences * batch.seq_len) / seconds,
              "tokens/s", "98000");
  const double flops = engine.sequence_flops() * static_cast<double>(batch.sequences);
  report.info("rate, " + what, flops / seconds / 1e12, "TFLOP/s",
              data_sheet(engine.device(), MatmulPrecision::bf16));
  if (const double mfu = engine.utilisation(seconds); mfu > 0) {
    report.info("MFU, " + what, 100 * mfu, "%", "55");
  } else {
    report.line("MFU, " + what, "unknown", "%", "55", Status::info);
  }
}

}  // namespace

// With as many sequences at once as there is memory for.
void check_training(Device& device, const Options& options, Report& report) {
  const auto room = static_cast<double>(list_gpus()[0].memory);
  for (const int64_t micro_batch : {32, 16, 8, 4}) {
    const RunConfig config = config_of(options, options.small ? micro_batch / 8 : micro_batch);
    LoneCommunicator alone;
    Engine engine(device, config, alone);
    const auto bytes = static_cast<double>(engine.memory_plan().total());
    report.info(fmt::format("memory, micro-batch {}", config.train.micro_batch), bytes / (1 << 30),
                "GiB", fmt::format("{:.0f}", room / (1 << 30)));
    if (bytes > 0.95 * room) continue;
    engine.allocate();
    engine.initialize();
    return run_steps(engine, config, report);
  }
  report.line("memory for 4 sequences", "-", "-", "-", Status::fail);
}

}  // namespace dashlm::gpu_check
