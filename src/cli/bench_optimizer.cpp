// `dashlm bench optimizer`: one update by phase, for each way of stacking blocks, beside the
// machine's own peak.
#include <algorithm>
#include <iostream>

#include "base/random.h"
#include "cli/bench.h"
#include "config/config.h"
#include "ops/cpu_kernels.h"
#include "ops/peak.h"
#include "train/engine.h"

namespace dashlm {
namespace {

// Gradients of full rank, so that no method finishes early.
void fill_gradients(Engine& engine) {
  const CounterRandom random(1, Purpose::benchmark);
  for (const Parameter& parameter : engine.layout().parameters()) {
    std::vector<float> host(static_cast<size_t>(parameter.elements()));
    random.fill_normal(host, 1e-3, static_cast<uint64_t>(parameter.offset));
    const Tensor part = ParameterLayout::view(engine.gradients(), parameter);
    engine.device().upload(part.data, host.data(), part.bytes());
  }
}

// The median update of several, all of which refresh every root.
Json bench_stacking(Device& device, RunConfig config, int64_t steps) {
  config.optimizer.dash.frequency = 1;
  config.optimizer.dash.start = 1;
  LoneCommunicator alone;
  Engine engine(device, config, alone);
  engine.allocate();
  engine.initialize();
  fill_gradients(engine);
  const double flops = engine.memory_plan().update_flops;
  std::vector<UpdateTimes> times;
  std::vector<double> peaks, ratios;
  for (int64_t i = 0; i <= steps; ++i) {
    const double peak = measure_matmul_peak(device, 2);
    engine.update({.update = i + 1, .lr = 1e-4});
    if (i == 0) continue;  // warm-up
    times.push_back(engine.optimizer().times());
    peaks.push_back(peak);
    ratios.push_back(1e3 * flops / times.back().total() / peak);
  }
  std::sort(times.begin(), times.end(),
            [](const UpdateTimes& a, const UpdateTimes& b) { return a.total() < b.total(); });
  const UpdateTimes& middle = times[times.size() / 2];
  const bool counted = !decomposes(config.optimizer);
  return {{"stacking", enum_name(config.optimizer.dash.stacking)},
          {"total_ms", middle.total()},
          {"pack_ms", middle.pack},
          {"factors_ms", middle.factors},
          {"roots_ms", middle.roots},
          {"update_ms", middle.update},
          {"gflops", counted ? Json(flops / middle.total() / 1e6) : Json()},
          {"sgemm_peak_gflops", median(peaks) / 1e9},
          {"ratio_to_peak", counted ? Json(median(ratios)) : Json()}};
}

}  // namespace

void bench_optimizer(const BenchOptions& options) {
  RunConfig config = options.config.load(/*log_warnings=*/true);
  require(config.optimizer.type != OptimizerType::adamw,
          "{}: optimizer.type is \"adamw\", which has no phases; use `dashlm bench step`",
          options.config.path);
  const auto device = open_device(config.device, static_cast<int>(config.threads));
  if (options.json) {
    std::cout << described_machine(device->description()).dump() << "\n";
  } else {
    std::cout << fmt::format("{}; {}\n", device->description(), cpu_kernels().text());
  }
  Json lines = Json::array();
  for (const auto& [stacking, name] : EnumNames<Stacking>::names) {
    config.optimizer.dash.stacking = stacking;
    lines.push_back(bench_stacking(*device, config, options.steps));
    if (options.json) {
      std::cout << lines.back().dump() << "\n";
      continue;
    }
    if (lines.size() == 1) {
      std::cout << fmt::format("{:<8}{:>10}{:>8}{:>10}{:>8}{:>10}{:>10}{:>10}\n", "stacking",
                               "total ms", "pack", "factors", "roots", "update", "GFLOP/s",
                               "of peak");
    }
    const Json& line = lines.back();
    const auto number = [&](const char* key, int digits) {
      return line[key].is_null() ? "-" : fmt::format("{:.{}f}", line[key].get<double>(), digits);
    };
    std::cout << fmt::format("{:<8}{:>10}{:>8}{:>10}{:>8}{:>10}{:>10}{:>10}\n", name,
                             number("total_ms", 1), number("pack_ms", 1), number("factors_ms", 1),
                             number("roots_ms", 1), number("update_ms", 1), number("gflops", 1),
                             number("ratio_to_peak", 2));
  }
}

}  // namespace dashlm
