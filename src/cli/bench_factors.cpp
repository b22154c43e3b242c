// `dashlm bench roots --from`: the errors of each method on the factors of a real run.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "cli/bench.h"
#include "cli/factor_report.h"
#include "cli/report.h"
#include "train/recorded_factors.h"

namespace dashlm {
namespace {

template <class Enum>
std::vector<Json> all_names() {
  std::vector<Json> names;
  for (const auto& choice : EnumNames<Enum>::names) names.push_back(choice.second);
  return names;
}

// Each method with each value of the key, unless the method has the key already.
std::vector<Json> crossed(const std::vector<Json>& methods, const char* key,
                          const std::vector<Json>& values) {
  if (methods.front().contains(key)) return methods;
  std::vector<Json> all;
  for (const Json& method : methods) {
    for (const Json& value : values) {
      all.push_back(method);
      all.back()[key] = value;
    }
  }
  return all;
}

// Every scaling and precision that the text leaves open; no ridge, as the exact root has none.
std::vector<InverseRootConfig> variants(const std::string& text, double floor) {
  Json base = method_json(text);
  const InverseRootConfig given = method_config(base);
  base.emplace("ridge", 0.0);
  std::vector<Json> methods;
  if (given.type() == InverseRootType::evd) {
    base.emplace("rank_rtol", floor / 2);  // rounding errors then cut off nothing above the floor
    methods = crossed({base}, "precision", all_names<EighPrecision>());
  } else {
    std::vector<Json> scalings;
    for (const Json& name : all_names<ScalingType>()) scalings.push_back(Json{{"type", name}});
    methods = crossed({base}, "scaling", scalings);
    methods = crossed(methods, "matmul", all_names<MatmulPrecision>());
  }
  std::vector<InverseRootConfig> configs;
  for (const Json& method : methods) configs.push_back(method_config(method));
  return configs;
}

std::string precision_of(const InverseRootConfig& config) {
  const auto name = [](const auto& method) -> std::string {
    if constexpr (requires { method.precision; }) {
      return enum_name(method.precision);  // the decomposition's
    } else {
      return enum_name(method.matmul);
    }
  };
  return std::visit(name, config.method);
}

bool has_residual(const InverseRootConfig& config) {
  return config.type() == InverseRootType::coupled_newton ||
         config.type() == InverseRootType::newton_db;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double median_of(const std::vector<double>& values) {
  return values.empty() ? kNone : median(values);
}

double largest_of(const std::vector<double>& values) {
  return values.empty() ? kNone : *std::ranges::max_element(values);
}

StageFigures figures_of(const std::vector<RootOutcome>& outcomes) {
  std::vector<double> errors, residuals;
  for (const RootOutcome& outcome : outcomes) {
    if (outcome.status == RootStatus::failed) continue;
    errors.push_back(outcome.error);
    residuals.push_back(outcome.residual);
  }
  return {median_of(errors), largest_of(errors), median_of(residuals), largest_of(residuals),
          std::ssize(outcomes) - std::ssize(errors)};
}

// The figures of the last stage alone.
void add_end(MethodCurve& curve, const std::vector<RootOutcome>& outcomes,
             const std::vector<RecordedFactor>& factors) {
  double largest = -1;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const RootOutcome& outcome = outcomes[i];
    if (outcome.status == RootStatus::failed) {
      curve.failed_factors.push_back(i);
      continue;
    }
    if (outcome.status == RootStatus::out_of_steps) ++curve.unfinished;
    if (outcome.error <= largest) continue;
    largest = outcome.error;
    curve.worst = factors[i].name;
  }
}

MethodCurve curve_of(const RootStudy& study, const std::string& text,
                     const InverseRootConfig& config, const std::vector<RecordedFactor>& factors) {
  MethodCurve curve;
  curve.method = text;
  if (const ScalingConfig* scaling = config.scaling()) curve.scaling = enum_name(scaling->type);
  curve.precision = precision_of(config);
  curve.has_residual = has_residual(config);
  curve.stages = stages_of(config);
  std::vector<RootOutcome> outcomes;
  for (const int64_t stage : curve.stages) {
    outcomes = study.run(with_stage(config, stage));
    curve.figures.push_back(figures_of(outcomes));
  }
  add_end(curve, outcomes, factors);
  return curve;
}

double off_diagonal_share(const RecordedFactor& factor) {
  double diagonal = 0, all = 0;
  for (size_t i = 0; i < factor.matrix.size(); ++i) {
    const double square = std::pow(static_cast<double>(factor.matrix[i]), 2);
    all += square;
    if (i % static_cast<size_t>(factor.n + 1) == 0) diagonal += square;
  }
  return std::sqrt((all - diagonal) / all);
}

// Everything but the methods.
FactorReport described(const RecordedFactors& recorded, const RootStudy& study, double exponent,
                       double floor) {
  FactorReport report;
  report.checkpoint = recorded.folder;
  report.step = recorded.step;
  report.exponent = exponent;
  report.floor = floor;
  report.available = recorded.available;
  report.zero = recorded.zero;
  report.not_finite = recorded.not_finite;
  const std::vector<ExactSpectrum> spectra = study.spectra();
  for (size_t i = 0; i < spectra.size(); ++i) {
    const RecordedFactor& factor = recorded.factors[i];
    report.factors.push_back({factor.name, factor.n, spectra[i].largest(), spectra[i].condition(),
                              spectra[i].rank(floor), off_diagonal_share(factor)});
  }
  return report;
}

}  // namespace

void bench_factors(Device& device, const FactorBenchOptions& options) {
  const RecordedFactors recorded = read_recorded_factors(options.from, options.blocks);
  const double exponent = options.exponent.value_or(recorded.exponent);
  for (const std::string& text : options.methods) {  // errors come before any work
    make_inverse_root(method_config(method_json(text)))->check_exponent(exponent);
  }
  const RootStudy study(device, recorded.factors, exponent, options.floor);
  FactorReport report = described(recorded, study, exponent, options.floor);
  if (!options.json) std::cout << head_of(report);
  for (const std::string& text : options.methods) {
    std::vector<MethodCurve> curves;
    for (const InverseRootConfig& config : variants(text, options.floor)) {
      curves.push_back(curve_of(study, text, config, recorded.factors));
    }
    if (!options.json) std::cout << text_of(curves);
    report.methods.insert(report.methods.end(), curves.begin(), curves.end());
  }
  if (options.json) std::cout << json_of(report) << "\n";
}

}  // namespace dashlm
