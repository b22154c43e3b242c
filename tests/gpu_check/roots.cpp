// The inverse-root table: each method with operands of each precision, its speed at the size of
// Llama-953M's blocks and its error on small ones.
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "gpu_check/report.h"
#include "optim/inverse_root/inverse_root.h"

namespace dashlm::gpu_check {
namespace {

constexpr double kExponent = 0.25;

InverseRootConfig config_of(const Json& json) {
  InverseRootConfig config;
  read_config(json, "gpu_check", [&](Schema& schema) { config.describe(schema); });
  return config;
}

// A stack of factors with room for their roots, and the memory that a method needs for it.
class Stack {
 public:
  Stack(Device& device, const Json& method, const std::vector<float>& block, int64_t blocks,
        int64_t n)
      : device_(device),
        memory_(device, "factors"),
        scratch_(device, "scratch"),
        method_(make_inverse_root(config_of(method))),
        ids_(static_cast<size_t>(blocks)) {
    std::iota(ids_.begin(), ids_.end(), int64_t{0});
    take({blocks, n, n});
    compute();
    memory_.commit();
    scratch_.commit();
    take({blocks, n, n});
    reports_.clear(context_);
    for (int64_t i = 0; i < blocks; ++i) {
      const Tensor one = factors_.rows(i, 1);
      device.upload(one.data, block.data(), one.bytes());
    }
  }

  void compute() {
    context_.flops = 0;
    method_->compute(
        context_, {.factors = factors_, .roots = roots_, .exponent = kExponent, .block_ids = ids_},
        reports_);
  }
  double flops() const { return context_.flops; }
  std::vector<float> first_root() const {
    const Tensor one = roots_.rows(0, 1);
    std::vector<float> host(static_cast<size_t>(one.elements()));
    device_.download(host.data(), one.data, one.bytes());
    return host;
  }
  int failures() const {
    int failed = 0;
    for (const RootReport& report : read_reports(device_, reports_)) {
      failed += report.status == RootStatus::failed ? 1 : 0;
    }
    return failed;
  }

 private:
  void take(const Shape& shape) {
    factors_ = memory_.take("factors", shape);
    roots_ = memory_.take("roots", shape);
    reports_ = RootReports::take(memory_, shape[0]);
  }

  Device& device_;
  Arena memory_, scratch_;
  Context context_{device_, scratch_};
  Tensor factors_, roots_;  // (S, n, n)
  RootReports reports_;
  std::unique_ptr<InverseRoot> method_;
  std::vector<int64_t> ids_;
};

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
  Stack stack(device, json_of(method, precision), factor(n, 1e-3), blocks, n);
  const double ms = median_milliseconds(device, 3, [&] { stack.compute(); });
  const std::string what = fmt::format("{}, {} of n = {}", name, blocks, n);
  report.info(what, ms, "ms");
  report.info(what, 1e-9 * stack.flops() / ms, "TFLOP/s",
              method.has_precision ? data_sheet(device, precision) : "-");
  if (const int failed = stack.failures(); failed > 0) {
    report.info(what + ", blocks that failed", failed, "blocks");
  }
}

// Against the CPU backend with operands in fp32, for EVD in fp64: the size of what is lost.
void check_error(Device& device, Device& cpu, const Method& method, MatmulPrecision precision,
                 const std::string& name, const Options& options, Report& report) {
  const int64_t n = options.small ? 24 : 128;
  const std::vector<float> block = factor(n, 1e-3);
  Stack stack(device, json_of(method, precision), block, 1, n);
  Json exact = json_of(method, MatmulPrecision::fp32);
  if (!method.has_precision) exact["precision"] = "float64";
  Stack reference(cpu, exact, block, 1, n);
  stack.compute();
  reference.compute();
  const double error = relative_error(stack.first_root(), reference.first_root());
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
