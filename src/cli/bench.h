// What the benchmarks of `dashlm bench` that run from a config share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "config/config.h"
#include "optim/optimizer_config.h"

namespace dashlm {

struct BenchOptions {
  ConfigOptions config;
  int64_t steps = 10;
  bool json = false;
};

double median(std::vector<double> values);
// Whether an update makes eigen-decompositions, whose FLOPs nobody can count: how many there are
// depends on the matrix.
bool decomposes(const OptimizerConfig& config);
// What the figures of a benchmark are of: "device", and "cpu_kernels" as `dashlm devices` has them.
Json described_machine(const std::string& device);

void bench_optimizer(const BenchOptions& options);
// `dashlm bench roots` has options of its own.
void add_bench_roots(CLI::App& bench);

}  // namespace dashlm
