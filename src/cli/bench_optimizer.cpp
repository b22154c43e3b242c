// `dashlm bench optimizer`: one update by phase, for each way of stacking blocks, beside the
// machine's own peak.
#include <algorithm>
#include <iostream>

#include "base/random.h"
#include "cli/bench.h"
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

Json line_of(const RunConfig& config, const UpdateCycle& cycle) {
  const UpdateMeasure& mean = cycle.mean;
  const BlockShampooConfig& dash = shampoo_of(config.optimizer);
  const bool counted = !decomposes(config.optimizer);
  return {{"stacking", enum_name(dash.stacking)},
          {"frequency", dash.frequency},
          {"total_ms", mean.times.total()},
          {"peak_ms", cycle.peak_ms},
          {"pack_ms", mean.times.pack},
          {"factors_ms", mean.times.factors},
          {"roots_ms", mean.times.roots},
          {"update_ms", mean.times.update},
          {"gflops", counted ? Json(mean.flops / mean.times.total() / 1e6) : Json()},
          {"peak_gflops", counted ? Json(mean.machine / 1e9) : Json()},
          {"peak_precision", counted ? Json(enum_name(peak_precision(dash))) : Json()},
          {"ratio_to_peak", counted ? Json(mean.share()) : Json()}};
}

// --- Output

void print_machine(const Device& device, int ranks, bool json) {
  if (json) {
    Json machine = described_machine(device.description());
    machine["ranks"] = ranks;
    std::cout << machine.dump() << "\n";
    return;
  }
  const std::string slowest = ranks > 1 ? fmt::format("; the slowest of {} ranks", ranks) : "";
  std::cout << fmt::format("{}; {}{}\n", device.description(), cpu_kernels().text(), slowest);
}

constexpr const char* kRow = "{:<8}{:>10}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}\n";

void print_head(int64_t frequency) {
  const std::string mean = frequency > 1 ? fmt::format("of {} ms", frequency) : "total ms";
  std::cout << fmt::format(kRow, "stacking", mean, "peak ms", "pack", "factors", "roots", "update",
                           "GFLOP/s", "of peak");
}

void print_line(const Json& line) {
  const auto number = [&](const char* key, int digits) {
    return line[key].is_null() ? "-" : fmt::format("{:.{}f}", line[key].get<double>(), digits);
  };
  std::cout << fmt::format(kRow, line["stacking"].get<std::string>(), number("total_ms", 1),
                           number("peak_ms", 1), number("pack_ms", 1), number("factors_ms", 1),
                           number("roots_ms", 1), number("update_ms", 1), number("gflops", 1),
                           number("ratio_to_peak", 2));
}

int bench_optimizer_on_rank(const BenchOptions& options, Communicator& communicator) {
  const bool speaks = communicator.rank() == 0;
  RunConfig config = options.config.load(/*log_warnings=*/speaks);
  require(config.optimizer.as<BlockShampooConfig>(),
          "{}: optimizer.type is \"{}\", which has no phases; use `dashlm bench step`",
          options.config.path, config.optimizer.type());
  const auto device =
      open_device(config.device, static_cast<int>(config.threads), communicator.local_place());
  const auto ranks = for_device(communicator, *device);
  warn_of_crowded_threads(*ranks, *device);
  if (speaks) print_machine(*device, ranks->size(), options.json);
  if (speaks && !options.json) print_head(shampoo_of(config.optimizer).frequency);
  for (const auto& [stacking, name] : EnumNames<Stacking>::names) {
    set_stacking(config.optimizer, stacking);
    const Json line = line_of(config, measured_cycle(*device, *ranks, config, options.steps));
    if (!speaks) continue;
    if (options.json) {
      std::cout << line.dump() << std::endl;
    } else {
      print_line(line);
    }
  }
  return 0;
}

}  // namespace

void bench_optimizer(const BenchOptions& options) {
  run_on_ranks(
      [&](Communicator& communicator) { return bench_optimizer_on_rank(options, communicator); });
}

}  // namespace dashlm
