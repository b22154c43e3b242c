// `dashlm bench roots --from`: the errors of each method on the factors of a real run.
//
// --json writes one object, which scripts turn into pictures:
//
//   checkpoint, step   the checkpoint, and its step
//   exponent, floor    e of A^(-e); errors are on eigenvalues above floor · lambda_max
//                      (ops/roots/exact_root.h)
//   available          number of factors in the checkpoint
//   factors            the chosen factors:
//                      [{name, n, largest (eigenvalue), condition (null: singular),
//                      rank (eigenvalues above the floor), off_diagonal (the share of ‖A‖_F that
//                      elements off the diagonal have: 0 for a diagonal factor)}]
//   condition, rank    {min, median, max} over these factors
//   zero, not_finite   names of factors that were chosen but have no root
//   methods            [{method (as --method has it), scaling (null: EVD), precision,
//                      stages: [steps made]; Chebyshev: degrees; EVD: [1]
//                      error_median, error_max: [after each stage]
//                      residual_median, residual_max: [max |M - I| with which the last step of each
//                        stage began]; Newton's methods only
//                      failed: [factors that failed, after each stage]
//                      failed_factors: [indices of `factors`, after the last stage]
//                      unfinished: factors that did not reach the tolerance after the last stage
//                      worst: name of the factor with error_max after the last stage}]
//
// Errors and residuals leave out factors that failed. They are null where all failed. A singular
// matrix has infinite condition. Figures have four digits.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/error.h"
#include "cli/bench.h"
#include "config/config.h"
#include "train/recorded_factors.h"

namespace dashlm {
namespace {

// The number, or null if it is not finite.
Json figure(double value) {
  return std::isfinite(value) ? Json(std::stod(fmt::format("{:.3e}", value))) : Json();
}

Json median_figure(const std::vector<double>& values) {
  return values.empty() ? Json() : figure(median(values));
}

Json largest_figure(const std::vector<double>& values) {
  return values.empty() ? Json() : figure(*std::ranges::max_element(values));
}

Json range_of(const std::vector<double>& values) {
  return {{"min", figure(*std::ranges::min_element(values))},
          {"median", median_figure(values)},
          {"max", largest_figure(values)}};
}

// --- Methods ---

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

// --- Figures ---

void add_stage(Json& curve, const std::vector<RootOutcome>& outcomes, bool residual) {
  std::vector<double> errors, residuals;
  for (const RootOutcome& outcome : outcomes) {
    if (outcome.status == RootStatus::failed) continue;
    errors.push_back(outcome.error);
    residuals.push_back(outcome.residual);
  }
  curve["error_median"].push_back(median_figure(errors));
  curve["error_max"].push_back(largest_figure(errors));
  if (residual) {
    curve["residual_median"].push_back(median_figure(residuals));
    curve["residual_max"].push_back(largest_figure(residuals));
  }
  curve["failed"].push_back(outcomes.size() - errors.size());
}

// The figures of the last stage alone.
void add_end(Json& curve, const std::vector<RootOutcome>& outcomes,
             const std::vector<RecordedFactor>& factors) {
  Json failed = Json::array(), worst;
  int64_t unfinished = 0;
  double largest = -1;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const RootOutcome& outcome = outcomes[i];
    if (outcome.status == RootStatus::failed) {
      failed.push_back(i);
      continue;
    }
    if (outcome.status == RootStatus::out_of_steps) ++unfinished;
    if (outcome.error <= largest) continue;
    largest = outcome.error;
    worst = factors[i].name;
  }
  curve["failed_factors"] = failed;
  curve["unfinished"] = unfinished;
  curve["worst"] = worst;
}

Json curve_of(const RootStudy& study, const std::string& text, const InverseRootConfig& config,
              const std::vector<RecordedFactor>& factors) {
  const ScalingConfig* scaling = config.scaling();
  Json curve = {{"method", text},
                {"scaling", scaling ? Json(enum_name(scaling->type)) : Json()},
                {"precision", precision_of(config)},
                {"stages", stages_of(config)}};
  std::vector<RootOutcome> outcomes;
  for (const int64_t stage : stages_of(config)) {
    outcomes = study.run(with_stage(config, stage));
    add_stage(curve, outcomes, has_residual(config));
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

// Everything but "methods".
Json described(const RecordedFactors& recorded, const RootStudy& study, double exponent,
               double floor) {
  const std::vector<ExactSpectrum> spectra = study.spectra();
  Json factors = Json::array();
  std::vector<double> conditions, ranks;
  for (size_t i = 0; i < spectra.size(); ++i) {
    conditions.push_back(spectra[i].condition());
    ranks.push_back(static_cast<double>(spectra[i].rank(floor)));
    factors.push_back({{"name", recorded.factors[i].name},
                       {"n", recorded.factors[i].n},
                       {"largest", figure(spectra[i].largest())},
                       {"condition", figure(conditions.back())},
                       {"rank", spectra[i].rank(floor)},
                       {"off_diagonal", figure(off_diagonal_share(recorded.factors[i]))}});
  }
  return {{"checkpoint", recorded.folder},
          {"step", recorded.step},
          {"exponent", exponent},
          {"floor", floor},
          {"available", recorded.available},
          {"factors", factors},
          {"condition", range_of(conditions)},
          {"rank", range_of(ranks)},
          {"zero", recorded.zero},
          {"not_finite", recorded.not_finite}};
}

// --- Text ---

std::string text_of(const Json& value, const char* otherwise) {
  return value.is_null() ? otherwise : fmt::format("{:.1e}", value.get<double>());
}

void print_head(const Json& all) {
  std::cout << fmt::format("{}: step {}; {} of {} factors, {} more are zero, {} not finite\n",
                           all["checkpoint"].get<std::string>(), all["step"].get<int64_t>(),
                           all["factors"].size(), all["available"].get<int64_t>(),
                           all["zero"].size(), all["not_finite"].size());
  const auto range = [&](const char* key, const char* format) {
    std::string text;
    for (const char* part : {"min", "median", "max"}) {
      const Json& value = all[key][part];
      text += fmt::format(
          "  {} {}", part,
          value.is_null() ? "infinite" : fmt::format(fmt::runtime(format), value.get<double>()));
    }
    return text;
  };
  std::cout << "condition " << range("condition", "{:.1e}") << "\n"
            << fmt::format("eigenvalues above {:.0e}·lambda_max ", all["floor"].get<double>())
            << range("rank", "{:.0f}") << "\n"
            << fmt::format("errors are relative to the exact root on those, exponent {:.4g}\n",
                           all["exponent"].get<double>());
}

std::string name_of(const Json& curve) {
  const Json& scaling = curve["scaling"];
  return fmt::format("  {:<22}{:<10}", scaling.is_null() ? "-" : scaling.get<std::string>(),
                     curve["precision"].get<std::string>());
}

void print_ends(const std::vector<Json>& curves) {
  std::cout << fmt::format("\n{}\n  {:<22}{:<10}{:>9}{:>9}{:>8}{:>12}  {}\n",
                           curves.front()["method"].get<std::string>(), "scaling", "precision",
                           "median", "max", "failed", "unfinished", "worst factor");
  for (const Json& curve : curves) {
    const Json& worst = curve["worst"];
    std::cout << name_of(curve)
              << fmt::format(
                     "{:>9}{:>9}{:>8}{:>12}  {}\n", text_of(curve["error_median"].back(), "-"),
                     text_of(curve["error_max"].back(), "-"), curve["failed"].back().get<int64_t>(),
                     curve["unfinished"].get<int64_t>(),
                     worst.is_null() ? "-" : worst.get<std::string>());
  }
}

void print_stages(const std::vector<Json>& curves, const char* title, const char* key) {
  if (!curves.front().contains(key) || curves.front()["stages"].size() == 1) return;
  std::cout << fmt::format("  {:<32}", title);
  for (const Json& stage : curves.front()["stages"]) {
    std::cout << fmt::format("{:>9}", stage.get<int64_t>());
  }
  std::cout << "\n";
  for (const Json& curve : curves) {
    std::cout << name_of(curve);
    for (const Json& value : curve[key]) std::cout << fmt::format("{:>9}", text_of(value, "-"));
    std::cout << "\n";
  }
}

void print_method(const std::vector<Json>& curves) {
  print_ends(curves);
  const bool newton = curves.front().contains("residual_median");
  print_stages(curves, newton ? "median error after step" : "median error at degree",
               "error_median");
  print_stages(curves, "median residual before step", "residual_median");
}

}  // namespace

void bench_factors(Device& device, const FactorBenchOptions& options) {
  const RecordedFactors recorded = read_recorded_factors(options.from, options.blocks);
  const double exponent = options.exponent.value_or(recorded.exponent);
  for (const std::string& text : options.methods) {  // errors come before any work
    make_inverse_root(method_config(method_json(text)))->check_exponent(exponent);
  }
  const RootStudy study(device, recorded.factors, exponent, options.floor);
  Json all = described(recorded, study, exponent, options.floor);
  all["methods"] = Json::array();
  if (!options.json) print_head(all);
  for (const std::string& text : options.methods) {
    std::vector<Json> curves;
    for (const InverseRootConfig& config : variants(text, options.floor)) {
      curves.push_back(curve_of(study, text, config, recorded.factors));
      all["methods"].push_back(curves.back());
    }
    if (!options.json) print_method(curves);
  }
  if (options.json) std::cout << all.dump() << "\n";
}

}  // namespace dashlm
