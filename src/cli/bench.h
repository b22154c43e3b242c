// What the benchmarks of `dashlm bench` that run from a config share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dashlm {

struct BenchOptions {
  std::string config;
  std::vector<std::string> overrides;
  int64_t steps = 10;
  bool json = false;
};

void bench_optimizer(const BenchOptions& options);
// `dashlm bench roots` has options of its own.
void add_bench_roots(CLI::App& bench);

}  // namespace dashlm
