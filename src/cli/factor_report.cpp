#include "cli/factor_report.h"

#include <algorithm>
#include <cmath>

#include "cli/bench.h"

namespace dashlm {
namespace {

struct Range {
  double min = 0, median = 0, max = 0;
};

Range range_of(const std::vector<FactorFigures>& factors, double (*figure)(const FactorFigures&)) {
  std::vector<double> values;
  for (const FactorFigures& factor : factors) values.push_back(figure(factor));
  return {*std::ranges::min_element(values), median(values), *std::ranges::max_element(values)};
}

Range conditions(const FactorReport& report) {
  return range_of(report.factors, [](const FactorFigures& factor) { return factor.condition; });
}

Range ranks(const FactorReport& report) {
  return range_of(report.factors,
                  [](const FactorFigures& factor) { return static_cast<double>(factor.rank); });
}

// --- JSON

// Null where it is not finite.
Json figure(double value) {
  return std::isfinite(value) ? Json(std::stod(fmt::format("{:.3e}", value))) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json json_of(const Range& range) {
  return {{"min", figure(range.min)}, {"median", figure(range.median)}, {"max", figure(range.max)}};
}

Json json_of(const FactorFigures& factor) {
  return {{"name", factor.name},
          {"n", factor.n},
          {"largest", figure(factor.largest)},
          {"condition", figure(factor.condition)},
          {"rank", factor.rank},
          {"off_diagonal", figure(factor.off_diagonal)}};
}

Json json_of(const MethodCurve& curve) {
  Json json = {{"method", curve.method},
               {"scaling", text_or_null(curve.scaling)},
               {"precision", curve.precision},
               {"stages", curve.stages}};
  for (const StageFigures& stage : curve.figures) {
    json["error_median"].push_back(figure(stage.error_median));
    json["error_max"].push_back(figure(stage.error_max));
    if (curve.has_residual) {
      json["residual_median"].push_back(figure(stage.residual_median));
      json["residual_max"].push_back(figure(stage.residual_max));
    }
    json["failed"].push_back(stage.failed);
  }
  json["failed_factors"] = curve.failed_factors;
  json["unfinished"] = curve.unfinished;
  json["worst"] = text_or_null(curve.worst);
  return json;
}

template <class Part>
Json list_of(const std::vector<Part>& parts) {
  Json list = Json::array();
  for (const Part& part : parts) list.push_back(json_of(part));
  return list;
}

// --- Text

std::string text_of(double value) {
  return std::isfinite(value) ? fmt::format("{:.1e}", value) : "-";
}

std::string condition_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.1e}", value) : "infinite";
}

std::string rank_text(double value) {
  return fmt::format("{:.0f}", value);
}

std::string text_of(const Range& range, std::string (*text)(double)) {
  return fmt::format("  min {}  median {}  max {}", text(range.min), text(range.median),
                     text(range.max));
}

std::string name_of(const MethodCurve& curve) {
  return fmt::format("  {:<22}{:<10}", curve.scaling.empty() ? "-" : curve.scaling,
                     curve.precision);
}

std::string text_of_ends(const std::vector<MethodCurve>& curves) {
  std::string text =
      fmt::format("\n{}\n  {:<22}{:<10}{:>9}{:>9}{:>8}{:>12}  {}\n", curves.front().method,
                  "scaling", "precision", "median", "max", "failed", "unfinished", "worst factor");
  for (const MethodCurve& curve : curves) {
    const StageFigures& end = curve.figures.back();
    text += name_of(curve) + fmt::format("{:>9}{:>9}{:>8}{:>12}  {}\n", text_of(end.error_median),
                                         text_of(end.error_max), end.failed, curve.unfinished,
                                         curve.worst.empty() ? "-" : curve.worst);
  }
  return text;
}

std::string text_of_stages(const std::vector<MethodCurve>& curves, const char* title,
                           double StageFigures::*value) {
  std::string text = fmt::format("  {:<32}", title);
  for (const int64_t stage : curves.front().stages) text += fmt::format("{:>9}", stage);
  text += "\n";
  for (const MethodCurve& curve : curves) {
    text += name_of(curve);
    for (const StageFigures& stage : curve.figures) {
      text += fmt::format("{:>9}", text_of(stage.*value));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

Json json_of(const FactorReport& report) {
  return {{"checkpoint", report.checkpoint},
          {"step", report.step},
          {"exponent", report.exponent},
          {"floor", report.floor},
          {"available", report.available},
          {"factors", list_of(report.factors)},
          {"condition", json_of(conditions(report))},
          {"rank", json_of(ranks(report))},
          {"zero", report.zero},
          {"not_finite", report.not_finite},
          {"methods", list_of(report.methods)}};
}

std::string head_of(const FactorReport& report) {
  return fmt::format("{}: step {}; {} of {} factors, {} more are zero, {} not finite\n",
                     report.checkpoint, report.step, report.factors.size(), report.available,
                     report.zero.size(), report.not_finite.size()) +
         fmt::format("condition {}\n", text_of(conditions(report), condition_text)) +
         fmt::format("eigenvalues above {:.0e}·lambda_max {}\n", report.floor,
                     text_of(ranks(report), rank_text)) +
         fmt::format("errors are relative to the exact root on those, exponent {:.4g}\n",
                     report.exponent);
}

std::string text_of(const std::vector<MethodCurve>& curves) {
  std::string text = text_of_ends(curves);
  const MethodCurve& first = curves.front();
  if (first.stages.size() == 1) return text;
  text += text_of_stages(curves,
                         first.has_residual ? "median error after step" : "median error at degree",
                         &StageFigures::error_median);
  if (first.has_residual) {
    text += text_of_stages(curves, "median residual before step", &StageFigures::residual_median);
  }
  return text;
}

}  // namespace dashlm
