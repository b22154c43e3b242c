// `dashlm bench optimizer`: one update by phase, for each way of stacking blocks, beside the
// machine's own peak.
#include <algorithm>
#include <optional>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/report.h"
#include "config/config.h"
#include "dist/launch.h"
#include "ops/core/cpu_kernels.h"
#include "ops/core/peak.h"
#include "optim/shampoo/config.h"
#include "train/engine.h"
#include "train/thread_use.h"
#include "train/update_measure.h"

namespace dashlm {
namespace {

// Gradients of full rank, so that no method finishes early. They repeat a list of random numbers.
// The length of the list is prime, so that no two rows of a block are alike.
void fill_gradients(Engine& engine) {
  constexpr int64_t kPeriod = 1000003;
  Device& device = engine.device();
  const Tensor& gradients = engine.own_gradients();
  std::vector<float> host(static_cast<size_t>(std::min(kPeriod, gradients.elements())));
  const auto rank = static_cast<uint64_t>(engine.communicator().rank());
  CounterRandom(1, Purpose::benchmark, rank).fill_normal(host, 1e-3);
  device.upload(gradients.data, host.data(), std::ssize(host) * size_of(DType::f32));
  for (int64_t begin = kPeriod; begin < gradients.elements(); begin += kPeriod) {
    const int64_t count = std::min(kPeriod, gradients.elements() - begin);
    device.copy(gradients.f32() + begin, gradients.data, count * size_of(DType::f32));
  }
}

const BlockShampooConfig& shampoo_of(const OptimizerConfig& config) {
  return config.get<BlockShampooConfig>();
}

// Also of groups, which share an optimizer with the others as long as their settings are the same.
void set_stacking(OptimizerConfig& config, Stacking stacking) {
  const auto set = [&](OptimizerChoice& choice) {
    if (auto* shampoo = choice.settings.as<BlockShampooConfig>()) shampoo->stacking = stacking;
  };
  set(config.main);
  for (ParameterGroup& group : config.groups) set(group.optimizer);
}

// The precision of most products of an update.
MatmulPrecision peak_precision(const BlockShampooConfig& config) {
  const auto of_method = [&](const auto& method) {
    if constexpr (requires { method.matmul; }) return method.matmul;
    return config.product_precision();
  };
  return std::visit(of_method, config.inverse_root.method);
}

// The machine's rate is left out if the update has no rate to compare with it.
UpdateMeasure measured_update(Engine& engine, const OptimizerConfig& config, int64_t update) {
  UpdateMeasure measure;
  if (!decomposes(config)) {
    measure.machine = measure_matmul_peak(engine.device(), peak_precision(shampoo_of(config)), 2);
  }
  const double flops_before = engine.flops();
  engine.communicator().barrier();  // so that all ranks of a machine are busy at the same time
  engine.update({.update = update, .lr = 1e-4});
  measure.times = engine.optimizer().times();
  measure.flops = engine.flops() - flops_before;
  return measure;
}

// The first update with roots refreshes all of them and warms up. From then on any f updates in a
// row refresh every root once.
UpdateCycle measured_cycle(Device& device, Communicator& ranks, const RunConfig& config,
                           int64_t cycles) {
  Engine engine(device, config, ranks);
  engine.allocate();
  fill_gradients(engine);
  const BlockShampooConfig& dash = shampoo_of(config.optimizer);
  const int64_t first = dash.first_update();
  std::vector<UpdateMeasure> own;
  for (int64_t update = first; update <= first + cycles * dash.frequency; ++update) {
    const UpdateMeasure measure = measured_update(engine, config.optimizer, update);
    if (update > first) own.push_back(measure);
  }
  return median_cycle(of_slowest_ranks(ranks, own), dash.frequency);
}

// --- Output

// The machine and the ranks that the lines below are about.
struct UpdateHead {
  std::string device;
  int ranks = 1;
  int64_t frequency = 1;
};

struct UpdateLine {
  Stacking stacking = Stacking::block;
  int64_t frequency = 1;
  UpdateCycle cycle;
  std::optional<MatmulPrecision> peak_precision;  // none where no rate can be counted

  // GFLOP/s
  double rate() const { return cycle.mean.flops / cycle.mean.times.total() / 1e6; }
};

Json json_of(const UpdateHead& head) {
  Json json = described_machine(head.device);
  json["ranks"] = head.ranks;
  return json;
}

Json json_of(const UpdateLine& line) {
  const UpdateTimes& times = line.cycle.mean.times;
  const bool counted = line.peak_precision.has_value();
  return {{"stacking", enum_name(line.stacking)},
          {"frequency", line.frequency},
          {"total_ms", times.total()},
          {"peak_ms", line.cycle.peak_ms},
          {"pack_ms", times.pack},
          {"factors_ms", times.factors},
          {"roots_ms", times.roots},
          {"update_ms", times.update},
          {"gflops", counted ? Json(line.rate()) : Json()},
          {"peak_gflops", counted ? Json(line.cycle.mean.machine / 1e9) : Json()},
          {"peak_precision", counted ? Json(enum_name(*line.peak_precision)) : Json()},
          {"ratio_to_peak", counted ? Json(line.cycle.mean.share()) : Json()}};
}

constexpr const char* kRow = "{:<8}{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}\n";

std::string text_of(const UpdateHead& head) {
  const std::string slowest =
      head.ranks > 1 ? fmt::format("; the slowest of {} ranks", head.ranks) : "";
  const std::string mean =
      head.frequency > 1 ? fmt::format("of {} ms", head.frequency) : "total ms";
  return fmt::format("{}; {}{}\n", head.device, cpu_kernels().text(), slowest) +
         fmt::format(kRow, "stacking", mean, "peak ms", "pack", "factors", "roots", "update",
                     "GFLOP/s", "of peak");
}

std::string text_of(const UpdateLine& line) {
  const auto number = [](double value, int digits) {
    return fmt::format("{:.{}f}", value, digits);
  };
  const UpdateTimes& times = line.cycle.mean.times;
  const bool counted = line.peak_precision.has_value();
  return fmt::format(kRow, enum_name(line.stacking), number(times.total(), 1),
                     number(line.cycle.peak_ms, 1), number(times.pack, 1), number(times.factors, 1),
                     number(times.roots, 1), number(times.update, 1),
                     counted ? number(line.rate(), 1) : "-",
                     counted ? number(line.cycle.mean.share(), 2) : "-");
}

int bench_optimizer_on_rank(const BenchOptions& options, Communicator& communicator) {
  const bool speaks = communicator.rank() == 0;
  RunConfig config = options.config.load(/*log_warnings=*/speaks);
  require(config.optimizer.as<BlockShampooConfig>(),
          "{}: optimizer.type is \"{}\", which has no phases; use `dashlm bench step`",
          options.config.path, config.optimizer.type());
  const auto device = open_device(config, communicator.local_place());
  const auto ranks = for_device(communicator, *device);
  warn_of_crowded_threads(*ranks, *device);
  const int64_t frequency = shampoo_of(config.optimizer).frequency;
  const UpdateHead head{device->description(), ranks->size(), frequency};
  if (speaks) print_report(head, options.json);
  for (const auto& [stacking, name] : EnumNames<Stacking>::names) {
    set_stacking(config.optimizer, stacking);
    UpdateLine line{
        stacking, frequency, measured_cycle(*device, *ranks, config, options.steps), {}};
    if (!decomposes(config.optimizer)) {
      line.peak_precision = peak_precision(shampoo_of(config.optimizer));
    }
    if (speaks) print_report(line, options.json);
  }
  return 0;
}

}  // namespace

void bench_optimizer(const BenchOptions& options) {
  run_on_ranks(
      [&](Communicator& communicator) { return bench_optimizer_on_rank(options, communicator); });
}

}  // namespace dashlm
