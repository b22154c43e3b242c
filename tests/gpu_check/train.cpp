// Training steps of Llama-953M in bf16: tokens/s, MFU, and whether it learns.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "gpu_check/report.h"
#include "train/engine.h"

namespace dashlm::gpu_check {
namespace {

// Of one of eight ranks of a published run: 8 micro-batches of 32.
constexpr int64_t kStepSequences = 256;
constexpr int kTimedSteps = 3;
constexpr double kTimedMs = 15e3;  // slower cards make fewer steps
constexpr int64_t kLearningSteps = 16;

RunConfig config_of(const Options& options, int64_t micro_batch) {
  std::vector<std::string> overrides = {
      "train.precision=bf16",
      fmt::format("train.batch={}", options.small ? kStepSequences / 8 : kStepSequences),
      fmt::format("train.micro_batch={}", micro_batch), "train.lr=3e-4"};
  if (options.small) {
    overrides.insert(overrides.end(), {"model.n_layer=2", "model.d_model=32", "model.n_head=2",
                                       "model.vocab_size=96", "model.seq_len=12"});
  }
  return load_run_config(options.configs + "/llama-953m.json", overrides);
}

// Random tokens, the same ones at every call: what can be learnt of them is to know them by heart.
Batch random_batch(const RunConfig& config, int64_t sequences) {
  Batch batch{sequences, config.model.seq_len, {}, {}, {}, 0};
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

void report_speed(const Engine& engine, const RunConfig& config, const Step& step,
                  const std::string& peak, Report& report) {
  const int64_t micro_batch = config.train.micro_batch, sequences = config.train.batch;
  const std::string what = fmt::format("{} x {} sequences", sequences / micro_batch, micro_batch);
  const double seconds = step.total_ms() / 1e3;
  report.info("step, " + what, step.total_ms(), "ms");
  report.info("of it forward and backward", step.passes_ms, "ms");
  report.info("of it AdamW on all weights", step.optimizer_ms, "ms");
  report.info("tokens, " + what, static_cast<double>(sequences * config.model.seq_len) / seconds,
              "tokens/s", "98000");
  const double flops = engine.plan().sequence_flops * static_cast<double>(sequences);
  report.info("rate, " + what, flops / seconds / 1e12, "TFLOP/s", peak);
  if (const double mfu = engine.utilisation(seconds); mfu > 0) {
    report.info("MFU, " + what, 100 * mfu, "%", "55");
  } else {
    report.line("MFU, " + what, "unknown", "%", "55", Status::info);
  }
}

// Steps of as many micro-batches as runs make, so that an update weighs as much as there.
void check_speed(Engine& engine, const RunConfig& config, int64_t& update, Report& report) {
  const Batch batch = random_batch(config, config.train.batch);
  std::vector<Step> steps;
  for (double ms = 0; std::ssize(steps) < kTimedSteps && ms < kTimedMs;) {
    steps.push_back(train_step(engine, config, batch, ++update));
    ms += steps.back().total_ms();
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.total_ms() < b.total_ms(); });
  report_speed(engine, config, steps[(steps.size() - 1) / 2],
               data_sheet(engine.device(), MatmulPrecision::bf16), report);
}

// Speed comes between the first steps of one micro-batch, which warm up, and the last ones.
void run_steps(Engine& engine, const RunConfig& config, Report& report) {
  const Batch batch = random_batch(config, config.train.micro_batch);
  int64_t update = 0;
  const double first = train_step(engine, config, batch, ++update).loss;
  // Initial weights are small, so that at first all tokens are about as likely.
  const double uniform = std::log(static_cast<double>(config.model.vocab_size));
  report.check("loss of the first step, from ln(V)", std::abs(first - uniform), "nats", 0.5);
  train_step(engine, config, batch, ++update);
  check_speed(engine, config, update, report);
  double last = first;
  for (int64_t i = 0; i < kLearningSteps; ++i) {
    last = train_step(engine, config, batch, ++update).loss;
  }
  report.check("loss of the last step, from that of the first", last - first, "nats", 0);
}

}  // namespace

// With as many sequences at once as there is memory for.
void check_training(Device& device, const Options& options, Report& report) {
  const auto room = static_cast<double>(list_gpus()[0].memory);
  for (const int64_t micro_batch : {32, 16, 8, 4}) {
    const RunConfig config = config_of(options, options.small ? micro_batch / 8 : micro_batch);
    LoneCommunicator alone;
    Engine engine(device, config, alone);
    const auto bytes = static_cast<double>(engine.plan().memory.total());
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
