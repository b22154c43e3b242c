// `dashlm bench roots`: the speed of the inverse roots, or (--trace) how their iterations move
// eigenvalues. bench_factors.cpp has --from.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/random.h"
#include "base/timer.h"
#include "cli/bench.h"
#include "cli/report.h"
#include "config/config.h"
#include "dist/launch.h"
#include "ops/core/peak.h"
#include "optim/inverse_root/root_trial.h"

namespace dashlm {
namespace {

struct Options {
  std::vector<std::string> methods = {"evd", "coupled_newton", "newton_db", "chebyshev"};
  std::vector<int64_t> sizes = {128, 256, 512};
  int64_t blocks = 0;
  double exponent = 0.25;
  int64_t repeats = 7;
  DeviceOptions device;
  bool trace = false;
  std::string from;
  double floor = 1e-5;  // the default of EVD's rank_rtol
  bool json = false;
};

std::string type_of(const InverseRootConfig& config) {
  return enum_name(config.type());
}

// Computes the roots and waits for them. Returns the number of floating-point operations.
double run(RootTrial& trial, Device& device) {
  const double flops = trial.compute();
  device.synchronize();
  return flops;
}

// --- Speed ---

// A factor like that of a run: G·Gᵀ of gradients whose rows differ in size.
std::vector<float> gradient_factors(int64_t blocks, int64_t n) {
  const int64_t rank = std::min<int64_t>(n, 64);
  const CounterRandom random(1, Purpose::benchmark);
  std::vector<float> g(static_cast<size_t>(n * rank)), block(static_cast<size_t>(n * n)), all;
  for (size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(random.normal(i));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      float dot = i == j ? 1.0f : 0.0f;
      for (int64_t k = 0; k < rank; ++k) {
        dot += g[static_cast<size_t>(i * rank + k)] * g[static_cast<size_t>(j * rank + k)];
      }
      block[static_cast<size_t>(i * n + j)] = block[static_cast<size_t>(j * n + i)] = dot;
    }
  }
  for (int64_t s = 0; s < blocks; ++s) all.insert(all.end(), block.begin(), block.end());
  return all;
}

// No block may finish early, so that every step counts.
InverseRootConfig without_early_exit(InverseRootConfig config) {
  std::visit(
      [](auto& method) {
        if constexpr (requires { method.tolerance; }) method.tolerance = 0.0;
      },
      config.method);
  return config;
}

// One method at one size.
struct RootSpeed {
  std::string method;  // as it was typed
  double exponent = 0;
  int64_t n = 0, blocks = 0;
  double seconds = 0;  // of the whole stack
  double flops = 0;    // of the whole stack
  double peak = 0;     // FLOP/s of a large product at the same time
  int64_t failed = 0;

  double ms_per_block() const { return 1e3 * seconds / static_cast<double>(blocks); }
  double rate() const { return flops / seconds; }
  // How many products of two matrices of order n a root is.
  double products() const { return flops / static_cast<double>(2 * n * n * n * blocks); }
};

RootSpeed time_method(Device& device, const Options& options, const std::string& text, int64_t n) {
  const InverseRootConfig config = without_early_exit(method_config(method_json(text)));
  const int64_t blocks =
      options.blocks > 0 ? options.blocks : std::max<int64_t>(4, 32 * 128 * 128 / (n * n));
  RootTrial bench(device, config, options.exponent, {blocks, n, n});
  bench.set_factors(gradient_factors(blocks, n));
  run(bench, device);  // warm-up
  RootSpeed speed{text, options.exponent, n, blocks, /*seconds=*/1e30};
  for (int64_t i = 0; i < options.repeats; ++i) {
    // In turn, since the speed of a shared machine drifts.
    speed.peak = std::max(speed.peak, measure_matmul_peak(device, MatmulPrecision::fp32, 1));
    const Timer timer;
    speed.flops = run(bench, device);
    speed.seconds = std::min(speed.seconds, timer.seconds());
  }
  speed.failed = bench.failures();
  return speed;
}

Json json_of(const RootSpeed& speed) {
  return {{"method", speed.method},
          {"exponent", speed.exponent},
          {"n", speed.n},
          {"blocks", speed.blocks},
          {"ms", 1e3 * speed.seconds},
          {"ms_per_block", speed.ms_per_block()},
          {"gflops", speed.rate() / 1e9},
          {"sgemm_peak_gflops", speed.peak / 1e9},
          {"ratio_to_peak", speed.rate() / speed.peak},
          {"products", speed.products()},
          {"failed", speed.failed}};
}

std::string text_of(const RootSpeed& speed) {
  return fmt::format("{:>6}{:>8}{:>12.3f}{:>10.1f}{:>10.1f}{:>10.1f}{:>8.2f}  {}\n", speed.n,
                     speed.blocks, speed.ms_per_block(), speed.products(), speed.rate() / 1e9,
                     speed.peak / 1e9, speed.rate() / speed.peak, speed.method);
}

// For people, a line as soon as it is known.
void bench_speed(Device& device, const Options& options) {
  Json rows = Json::array();
  if (!options.json) {
    std::cout << device.description() << "\n"
              << fmt::format("{:>6}{:>8}{:>12}{:>10}{:>10}{:>10}{:>8}  {}\n", "n", "blocks",
                             "ms/block", "products", "GFLOP/s", "SGEMM", "ratio", "method");
  }
  for (const int64_t n : options.sizes) {
    for (const std::string& method : options.methods) {
      const RootSpeed speed = time_method(device, options, method, n);
      rows.push_back(json_of(speed));
      if (!options.json) std::cout << text_of(speed);
    }
  }
  if (options.json) std::cout << Json{{"device", device.description()}, {"roots", rows}} << "\n";
}

// --- Convergence ---

constexpr int64_t kTraced = 9;       // eigenvalues 1, 1e-1, … 1e-8
constexpr int64_t kTraceSize = 256;  // the others are spread over [0.1, 1]
constexpr int64_t kTraceSteps = 10;

double traced_eigenvalue(int64_t i) {
  return i < kTraced ? std::pow(10.0, static_cast<double>(-i))
                     : std::pow(10.0, static_cast<double>(kTraced - 1 - i) /
                                          static_cast<double>(kTraceSize - kTraced));
}

// The matrix is diagonal, so that the root's eigenvalues are its diagonal.
std::vector<float> traced_matrix() {
  std::vector<float> matrix(kTraceSize * kTraceSize);
  for (int64_t i = 0; i < kTraceSize; ++i) {
    matrix[static_cast<size_t>(i * (kTraceSize + 1))] = static_cast<float>(traced_eigenvalue(i));
  }
  return matrix;
}

template <class Method>
InverseRootConfig with_steps(Method method, ScalingType scaling, int64_t steps) {
  method.steps = steps;
  method.scaling.type = scaling;
  return {method};
}

struct RootTrace {
  std::string method;
  ScalingType scaling = ScalingType::frobenius;
  double exponent = 0;
  double scale = 0;  // in units of lambda_max
  // ratios[i][k]: λ_i^e times the eigenvalue of the root after k + 1 steps, 1 when exact.
  std::vector<std::vector<double>> ratios;
};

template <class Method>
RootTrace trace(Device& device, double exponent, ScalingType scaling) {
  RootTrace trace{type_of({Method{}}), scaling, exponent, 0, {}};
  trace.ratios.resize(kTraced);
  for (int64_t steps = 1; steps <= kTraceSteps; ++steps) {
    const InverseRootConfig config = with_steps(Method{}, scaling, steps);
    RootTrial bench(device, config, exponent, {1, kTraceSize, kTraceSize});
    bench.set_factors(traced_matrix());
    run(bench, device);
    const std::vector<float> roots = bench.roots();
    trace.scale = bench.reports().front().scale;
    for (int64_t i = 0; i < kTraced; ++i) {
      const double root = roots[static_cast<size_t>(i * (kTraceSize + 1))];
      trace.ratios[static_cast<size_t>(i)].push_back(root *
                                                     std::pow(traced_eigenvalue(i), exponent));
    }
  }
  return trace;
}

Json json_of(const std::vector<RootTrace>& traces) {
  Json list = Json::array();
  for (const RootTrace& trace : traces) {
    list.push_back({{"method", trace.method},
                    {"scaling", enum_name(trace.scaling)},
                    {"exponent", trace.exponent},
                    {"scale", trace.scale},
                    {"ratio", trace.ratios}});
  }
  return {{"traces", list}};
}

std::string text_of(const RootTrace& trace) {
  std::string text =
      fmt::format("\n{}, {}: s = {:.3g}·lambda_max, exponent {}\n{:>10}", trace.method,
                  enum_name(trace.scaling), trace.scale, trace.exponent, "step");
  for (int64_t k = 1; k <= kTraceSteps; ++k) text += fmt::format("{:>8}", k);
  text += "\n";
  for (int64_t i = 0; i < kTraced; ++i) {
    text += fmt::format("{:>10.0e}", traced_eigenvalue(i));
    for (const double ratio : trace.ratios[static_cast<size_t>(i)]) {
      text += fmt::format("{:>8.4f}", ratio);
    }
    text += "\n";
  }
  return text;
}

std::string text_of(const std::vector<RootTrace>& traces) {
  std::string text =
      "lambda^e times the root's eigenvalue, for lambda / lambda_max in the first column; 1 is "
      "exact.\n";
  for (const RootTrace& trace : traces) text += text_of(trace);
  return text;
}

void bench_trace(Device& device, const Options& options) {
  std::vector<RootTrace> traces;
  for (const auto scaling : {ScalingType::frobenius, ScalingType::power_iteration}) {
    traces.push_back(trace<CoupledNewtonConfig>(device, options.exponent, scaling));
    traces.push_back(trace<NewtonDbConfig>(device, options.exponent, scaling));
  }
  print_report(traces, options.json);
}

void run_bench(Device& device, const Options& options, bool exponent_given) {
  if (options.trace) return bench_trace(device, options);
  if (options.from.empty()) return bench_speed(device, options);
  bench_factors(device,
                {.from = options.from,
                 .methods = options.methods,
                 .blocks = options.blocks,
                 .exponent = exponent_given ? std::optional(options.exponent) : std::nullopt,
                 .floor = options.floor,
                 .json = options.json});
}

}  // namespace

Json method_json(const std::string& text) {
  const bool object = text.find('{') != std::string::npos;
  return object ? parse_json(text, "--method") : Json{{"type", text}};
}

InverseRootConfig method_config(const Json& method) {
  InverseRootConfig config;
  read_config(method, "--method", [&](Schema& schema) { config.describe(schema); });
  return config;
}

void add_bench_roots(CLI::App& bench) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      bench.add_subcommand("roots",
                           "speed of the inverse roots, (--trace) their convergence, or (--from) "
                           "their errors on a run's factors");
  command
      ->add_option(
          "--method", options->methods,
          "a type, or a JSON object such as {\"type\": \"newton_db\", \"matmul\": \"fp16\"}")
      ->capture_default_str();
  CLI::Option* sizes = command->add_option("--n", options->sizes, "orders of the blocks")
                           ->check(CLI::Range(1, 16384))
                           ->capture_default_str();
  command
      ->add_option("--blocks", options->blocks,
                   "blocks in the stack, or factors of the run; 0: by size")
      ->check(at_least(0))
      ->capture_default_str();
  CLI::Option* exponent =
      command->add_option("--exponent", options->exponent, "e of A^(-e); --from: the run's")
          ->capture_default_str();
  CLI::Option* repeats =
      command->add_option("--repeats", options->repeats, "runs, of which the fastest counts")
          ->check(at_least(1))
          ->capture_default_str();
  add_device_options(*command, options->device);
  CLI::Option* trace =
      command->add_flag("--trace", options->trace,
                        "how eigenvalues move, step by step, under coupled_newton and newton_db");
  CLI::Option* from =
      add_path(*command, "--from", options->from,
               "a run of dash or shampoo, or a checkpoint of one: errors and residuals of each "
               "method on its factors, by step, in every scaling and precision that --method "
               "leaves open")
          ->excludes(sizes)
          ->excludes(repeats)
          ->excludes(trace);
  command
      ->add_option("--floor", options->floor,
                   "eigenvalues of a factor below floor times its largest are rounding errors, "
                   "on which no error is measured")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str()
      ->needs(from);
  add_json_option(*command, options->json, "as one line of JSON");
  command->callback([options, exponent] {
    require_one_process("bench roots");
    const auto device = options->device.open();
    run_bench(*device, *options, exponent->count() > 0);
  });
}

}  // namespace dashlm
