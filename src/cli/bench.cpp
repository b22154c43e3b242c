// `dashlm bench step`: the speed of a training step beside the machine's own peak. `dashlm bench
// data`: the speed of the loader alone. bench_optimizer.cpp and bench_roots.cpp have the others.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>

#include "base/random.h"
#include "base/timer.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "config/config.h"
#include "dist/launch.h"
#include "ops/core/peak.h"
#include "optim/shampoo/config.h"
#include "train/engine.h"
#include "train/peak_share.h"
#include "train/thread_use.h"

namespace dashlm {
namespace {

// This rank's share of random tokens. The arithmetic is the same as on text, and no data is needed.
Batch random_batch(const RunConfig& config, const Communicator& communicator) {
  const Share share = Share::of(config.train.batch, communicator.rank(), communicator.size());
  const int64_t step_tokens = config.train.batch * config.model.seq_len;
  Batch batch{share.size(), config.model.seq_len, {}, {}, {}, step_tokens};
  const auto rank = static_cast<uint64_t>(communicator.rank());
  const CounterRandom random(1, Purpose::benchmark, rank);
  const auto vocab = static_cast<uint64_t>(config.model.vocab_size);
  const auto count = static_cast<uint64_t>(batch.sequences * batch.seq_len);
  for (uint64_t i = 0; i < count; ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.below(vocab, 2 * i)));
    batch.targets.push_back(static_cast<int32_t>(random.below(vocab, 2 * i + 1)));
  }
  return batch;
}

// Of steps with and without new inverse roots, the median shows one kind only.
double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The precision of most products of a step. The peak is measured in it.
MatmulPrecision peak_precision(const RunConfig& config) {
  return config.train.precision == ModelPrecision::bf16 ? MatmulPrecision::bf16
                                                        : MatmulPrecision::fp32;
}

struct StepMeasure {
  double seconds = 0;
  double update_seconds = 0;
  double communication_ms = 0;
  double rate = 0;  // FLOP/s
};

StepMeasure measured_step(Engine& engine, const Batch& batch, int64_t update) {
  StepMeasure measure;
  Device& device = engine.device();
  const double flops_before = engine.flops();
  const Timer timer;
  engine.forward_backward(batch);
  const double norm = engine.reduce().gradient_norm;
  const double before_update = timer.seconds();
  engine.update({.update = update, .lr = 1e-4, .gradient_scale = 1.0 / std::max(1.0, norm)});
  device.synchronize();
  measure.update_seconds = timer.seconds() - before_update;
  engine.gather();
  engine.settle();  // so that a step is charged with all its own communication
  device.synchronize();
  measure.communication_ms = engine.take_communication_ms();
  measure.seconds = timer.seconds();
  // Counted for this step alone: it may refresh all roots, some or none, and may come before
  // `start`.
  measure.rate = (engine.flops() - flops_before) / measure.seconds;
  return measure;
}

// One figure of all steps, in their order.
std::vector<double> column(const std::vector<StepMeasure>& steps, double StepMeasure::*figure) {
  std::vector<double> values;
  for (const StepMeasure& step : steps) values.push_back(step.*figure);
  return values;
}

// Tokens count all ranks. Times, rates and the peaks beside them are rank 0's.
struct StepReport {
  std::string device;
  int ranks = 1;
  int64_t parameters = 0;
  double seconds = 0, mean_seconds = 0, update_seconds = 0;  // a step; the optimizer's part
  double communication_ms = 0;
  double tokens_per_s = 0;
  double rate = 0, peak = 0, share_of_peak = 0;  // FLOP/s
  double utilisation = 0;                        // 0: unknown
  ModelPrecision precision = ModelPrecision::fp32;
  bool decomposes = false;
};

StepReport step_report(const Engine& engine, const std::vector<StepMeasure>& steps,
                       const std::vector<double>& peaks, int64_t step_tokens) {
  const std::vector<double> seconds = column(steps, &StepMeasure::seconds);
  const std::vector<double> rates = column(steps, &StepMeasure::rate);
  StepReport report;
  report.ranks = engine.communicator().size();
  report.parameters = engine.layout().elements();
  report.seconds = median(seconds);
  report.mean_seconds = mean(seconds);
  report.update_seconds = median(column(steps, &StepMeasure::update_seconds));
  report.communication_ms = median(column(steps, &StepMeasure::communication_ms));
  report.tokens_per_s = static_cast<double>(step_tokens) / report.seconds;
  report.rate = median(rates);
  report.peak = median(peaks);
  report.share_of_peak = median(shares_of_peak(rates, peaks));
  report.utilisation = engine.utilisation(report.seconds);
  return report;
}

Json json_of(const StepReport& report) {
  Json json = described_machine(report.device);
  json.update({{"ranks", report.ranks},
               {"parameters", report.parameters},
               {"step_ms", 1e3 * report.seconds},
               {"mean_step_ms", 1e3 * report.mean_seconds},
               {"optimizer_ms", 1e3 * report.update_seconds},
               {"communication_ms", report.communication_ms},
               {"tokens_per_s", report.tokens_per_s},
               {"tokens_per_s_per_rank", report.tokens_per_s / report.ranks},
               {"gflops_per_rank", report.rate / 1e9},
               {"peak_gflops", report.peak / 1e9},
               {"ratio_to_peak", report.share_of_peak}});
  if (report.utilisation > 0) json["mfu"] = report.utilisation;
  json["peak_precision"] = enum_name(report.precision);
  if (report.decomposes) json["flops"] = "with 4n^3 for a decomposition, by convention";
  return json;
}

std::string text_of(const StepReport& report) {
  return lines_of(json_of(report));
}

int bench_step_on_rank(const BenchOptions& options, Communicator& communicator) {
  const RunConfig config = options.config.load(/*log_warnings=*/communicator.rank() == 0);
  const auto device = open_device(config, communicator.local_place());
  const auto ranks = for_device(communicator, *device);
  warn_of_crowded_threads(*ranks, *device);
  Engine engine(*device, config, *ranks);
  engine.allocate();
  engine.initialize();
  const Batch batch = random_batch(config, communicator);

  std::vector<StepMeasure> steps;
  std::vector<double> peaks;
  for (int64_t update = 1; update <= options.steps + 1; ++update) {
    const StepMeasure measure = measured_step(engine, batch, update);
    if (update > 1) steps.push_back(measure);  // the first one warms up
    peaks.push_back(measure_matmul_peak(*device, peak_precision(config), 2));
  }
  if (communicator.rank() > 0) return 0;
  StepReport report = step_report(engine, steps, peaks, batch.step_targets);
  report.device = device->description();
  report.precision = config.train.precision;
  report.decomposes = decomposes(config.optimizer);
  print_report(report, options.json);
  return 0;
}

void bench_step(const BenchOptions& options) {
  run_on_ranks(
      [&](Communicator& communicator) { return bench_step_on_rank(options, communicator); });
}

struct LoaderReport {
  int64_t batches = 0, tokens = 0;
  double seconds = 0;
};

Json json_of(const LoaderReport& report) {
  return {{"batches", report.batches},
          {"tokens", report.tokens},
          {"tokens_per_s", static_cast<double>(report.tokens) / report.seconds}};
}

std::string text_of(const LoaderReport& report) {
  return lines_of(json_of(report));
}

void bench_data(const BenchOptions& options) {
  const RunConfig config = options.config.load(/*log_warnings=*/true);
  const TokenStream stream(config.data.train, config.model.vocab_size);
  const SampleOrder order(stream.size(), config.model.seq_len,
                          static_cast<uint64_t>(config.data.seed));
  BatchLoader loader(stream, order, config.train.batch, {}, config.data.prefetch);
  loader.next();
  const Timer timer;
  LoaderReport report{.batches = options.steps};
  for (int64_t i = 0; i < options.steps; ++i) report.tokens += std::ssize(loader.next().tokens);
  report.seconds = timer.seconds();
  print_report(report, options.json);
}

void add_bench(CLI::App& bench, const char* name, const char* help, int64_t steps,
               void (*run)(const BenchOptions&), const char* json_help = "as one line of JSON",
               const char* steps_help = "steps to time") {
  auto options = std::make_shared<BenchOptions>();
  options->steps = steps;
  CLI::App* command = bench.add_subcommand(name, help);
  add_config_options(*command, options->config)->required();
  command->add_option("--steps", options->steps, steps_help)
      ->check(at_least(1))
      ->capture_default_str();
  add_json_option(*command, options->json, json_help);
  command->callback([options, run, command] {
    if (command->get_name() == "data") require_one_process("bench data");
    run(*options);
  });
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool decomposes(const OptimizerConfig& config) {
  const auto* shampoo = config.as<BlockShampooConfig>();
  return shampoo && shampoo->inverse_root.type() == InverseRootType::evd;
}

Json described_machine(const std::string& device) {
  return {{"device", device}, {"cpu_kernels", json_of(cpu_kernels())}};
}

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "measure speed");
  bench->require_subcommand(1);
  add_bench(*bench, "step",
            "a training step on random tokens: tokens/s of all ranks, the other figures of rank 0, "
            "beside the peak of its products before and after each step",
            10, bench_step);
  add_bench(*bench, "optimizer",
            "an update of dash or shampoo by phase, for each stacking: the times of the slowest "
            "rank. With optimizer.frequency f, the mean over f updates and the peak, the update "
            "with new roots",
            5, bench_optimizer, "as JSON: a line for the machine, then one for each stacking",
            "times to time an update, or f updates in a row");
  add_bench_roots(*bench);
  add_bench(*bench, "data", "the data loader alone", 1000, bench_data);
}

}  // namespace dashlm
