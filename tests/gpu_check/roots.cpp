// The inverse-root table: each method with operands of each precision, its speed at the size of
// Llama-953M's blocks and its error on small ones.
#include <cmath>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "gpu_check/report.h"
#include "optim/inverse_root/root_trial.h"

namespace dashlm::gpu_check {
namespace {

constexpr double kExponent = 0.25;

InverseRootConfig config_of(const Json& json) {
  InverseRootConfig config;
  read_config(json, "gpu_check", [&](Schema& schema) { config.describe(schema); });
  return config;
}

// The same factor (n, n) for each of `blocks`.
void set_factors(RootTrial& trial, const std::vector<float>& factor, int64_t blocks) {
  std::vector<float> all;
  for (int64_t i = 0; i < blocks; ++i) all.insert(all.end(), factor.begin(), factor.end());
  trial.set_factors(all);
}

// I·least + G·Gᵀ of a few directions of falling size: what a factor looks like after a while.
std::vector<float> factor(int64_t n, double least) {
  constexpr int64_t kDirections = 12;
  const CounterRandom random(1, Purpose::benchmark);
  std::vector<double> block(static_cast<size_t>(n * n)), v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) block[static_cast<size_t>(i * (n + 1))] = least;
  for (int64_t k = 0; k < kDirections; ++k) {
    const double size = std::pow(10.0, -0.25 * static_cast<double>(k));
    for (int64_t i = 0; i < n; ++i) {
      v[static_cast<size_t>(i)] = std::sqrt(size / static_cast<double>(n)) *
                                  random.normal(static_cast<uint64_t>(k * n + i));
    }
    for (size_t i = 0; i < v.size(); ++i) {
      for (size_t j = 0; j < v.size(); ++j) block[i * v.size() + j] += v[i] * v[j];
    }
  }
  return {block.begin(), block.end()};
}

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - want[i], 2);
    size += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(difference / size);
}

struct Method {
  const char* type;
  bool newton;         // has a tolerance
  bool has_precision;  // "matmul"
  double fp32_error;   // from the CPU backend; those of tests/golden/methods.cpp
};

constexpr Method kMethods[] = {
    {"evd", false, false, 2e-3},
    {"coupled_newton", true, true, 2e-5},
    {"newton_db", true, true, 1e-4},
    {"chebyshev", false, true, 5e-4},
};

Json json_of(const Method& method, MatmulPrecision precision) {
  Json json = {{"type", method.type}};
  if (method.has_precision) json["matmul"] = enum_name(precision);
  if (method.newton) json["tolerance"] = 0.0;  // finished blocks would rest: every step is to count
  return json;
}

void check_speed(Device& device, const Method& method, MatmulPrecision precision,
                 const std::string& name, const Options& options, Report& report) {
  const int64_t n = options.small ? 24 : 1024, blocks = options.small ? 2 : 16;
  RootTrial trial(device, config_of(json_of(method, precision)), kExponent, {blocks, n, n});
  set_factors(trial, factor(n, 1e-3), blocks);
  double flops = 0;
  const double ms = median_milliseconds(device, 3, [&] { flops = trial.compute(); });
  const std::string what = fmt::format("{}, {} of n = {}", name, blocks, n);
  report.info(what, ms, "ms");
  report.info(what, 1e-9 * flops / ms, "TFLOP/s",
              method.has_precision ? data_sheet(device, precision) : "-");
  if (const int64_t failed = trial.failures(); failed > 0) {
    report.info(what + ", blocks that failed", static_cast<double>(failed), "blocks");
  }
}

// Against the CPU backend with operands in fp32, for EVD in fp64: the size of what is lost.
void check_error(Device& device, Device& cpu, const Method& method, MatmulPrecision precision,
                 const std::string& name, const Options& options, Report& report) {
  const int64_t n = options.small ? 24 : 128;
  const std::vector<float> block = factor(n, 1e-3);
  const auto root = [&](Device& on, const Json& json) {
    RootTrial trial(on, config_of(json), kExponent, {1, n, n});
    trial.set_factors(block);
    trial.compute();
    return trial.roots();
  };
  Json exact = json_of(method, MatmulPrecision::fp32);
  if (!method.has_precision) exact["precision"] = "float64";
  const double error = relative_error(root(device, json_of(method, precision)), root(cpu, exact));
  const std::string what = fmt::format("{}, error at n = {}", name, n);
  if (precision == MatmulPrecision::fp32) {
    report.check(what, error, "relative", method.fp32_error);
  } else {
    report.info(what, error, "relative");
  }
}

}  // namespace

void check_roots(Device& device, const Options& options, Report& report) {
  const auto cpu = open_device("cpu");
  for (const Method& method : kMethods) {
    for (const auto& [precision, word] : EnumNames<MatmulPrecision>::names) {
      if (!method.has_precision && precision != MatmulPrecision::fp32) continue;
      const std::string name = fmt::format("{} {}", method.type, word);
      check_speed(device, method, precision, name, options, report);
      check_error(device, *cpu, method, precision, name, options, report);
    }
  }
}

}  // namespace dashlm::gpu_check
