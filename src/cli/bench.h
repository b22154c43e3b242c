// Shared by the benchmarks of `dashlm bench` that run from a config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "config/config.h"
#include "optim/inverse_root/config.h"
#include "optim/optimizer_config.h"

namespace dashlm {

struct BenchOptions {
  ConfigOptions config;
  int64_t steps = 10;
  bool json = false;
};

double median(std::vector<double> values);
// Whether an update makes eigen-decompositions. Nobody can count their FLOPs, which depend on the
// matrix.
bool decomposes(const OptimizerConfig& config);
// The machine of a benchmark: "device", and "cpu_kernels" as in `dashlm devices`.
Json described_machine(const std::string& device);

void bench_optimizer(const BenchOptions& options);

// --method: the name of a type, or a JSON object with "type" and further keys.
Json method_json(const std::string& text);
InverseRootConfig method_config(const Json& method);

struct FactorBenchOptions {
  std::string from;                  // a run or a checkpoint
  std::vector<std::string> methods;  // at least one
  int64_t blocks = 0;                // factors; 0: by their size
  std::optional<double> exponent;    // instead of the run's
  double floor = 0;                  // as in root_errors()
  bool json = false;
};
// Runs `dashlm bench roots --from`. Throws a bad_input Error as read_recorded_factors() does.
void bench_factors(Device& device, const FactorBenchOptions& options);
// Adds `dashlm bench roots`, which has options of its own.
void add_bench_roots(CLI::App& bench);

}  // namespace dashlm
