#include "cli/eval_report.h"

#include <cmath>

#include "train/metrics.h"

namespace dashlm {
namespace {

struct Column {
  const char* key;
  const char* title;
  double SiteStatistics::*value;
};
constexpr Column kColumns[] = {
    {"kurtosis", "kurtosis", &SiteStatistics::kurtosis},
    {"max_over_rms", "max/rms", &SiteStatistics::max_over_rms},
    {"beyond_6_sigma", "beyond 6σ", &SiteStatistics::beyond_6_sigma},
};

double perplexity(const LossSum& loss) {
  return std::exp(loss.mean());
}

Json json_of(const QuantizedEvaluation& quantized, const LossSum& exact) {
  const Quantization& q = quantized.quantization;
  return {{"format", enum_name(q.format)},
          {"group", q.group > 0 ? Json(q.group) : Json("channel")},
          {"weights", quantized.rounding.weights},
          {"relative_error", quantized.rounding.relative},
          {"val_loss", quantized.loss.mean()},
          {"val_ppl", perplexity(quantized.loss)},
          {"val_loss_difference", quantized.loss.mean() - exact.mean()},
          {"val_ppl_difference", perplexity(quantized.loss) - perplexity(exact)}};
}

Json json_of(const OutlierReport& report) {
  Json activations = Json::array(), summary = Json::object();
  for (const SiteStatistics& site : report.sites) {
    Json json = {{"layer", site.layer}, {"site", enum_name(site.site)}, {"values", site.values}};
    for (const Column& column : kColumns) json[column.key] = site.*column.value;
    activations.push_back(json);
  }
  for (const auto& [site, name] : EnumNames<ActivationSite>::names) {
    for (const Column& column : kColumns) {
      const LayerSummary layers = over_layers(report, site, column.value);
      summary[name][column.key] = {{"max", layers.max}, {"mean", layers.mean}};
    }
  }
  return {{"tokens", report.tokens}, {"activations", activations}, {"summary", summary}};
}

std::string text_of(const QuantizedEvaluation& quantized, const LossSum& exact) {
  const Quantization& q = quantized.quantization;
  const std::string group =
      q.group > 0 ? fmt::format("groups of {}", q.group) : "a scale per output channel";
  return fmt::format(
      "with {} weights ({}): loss {:.4f} ({:+.4f}), perplexity {} ({:+.4g})\n"
      "  {} weights of the layers were rounded, by {:.3g}% of their norm\n",
      enum_name(q.format), group, quantized.loss.mean(), quantized.loss.mean() - exact.mean(),
      perplexity_text(quantized.loss.mean()), perplexity(quantized.loss) - perplexity(exact),
      quantized.rounding.weights, 100 * quantized.rounding.relative);
}

std::string row(const std::string& site, const std::string& layer, double kurtosis,
                double max_over_rms, double beyond) {
  return fmt::format("{:<10}{:>6}{:>12.2f}{:>10.2f}{:>12}\n", site, layer, kurtosis, max_over_rms,
                     fmt::format("{:.4f}%", 100 * beyond));
}

std::string text_of(const OutlierReport& report) {
  std::string text =
      fmt::format("activations at {} tokens:\n{:<10}{:>6}{:>12}{:>10}{:>12}\n", report.tokens,
                  "input of", "layer", kColumns[0].title, kColumns[1].title, kColumns[2].title);
  for (const auto& [site, name] : EnumNames<ActivationSite>::names) {
    for (const SiteStatistics& s : report.sites) {
      if (s.site != site) continue;
      text += row(name, std::to_string(s.layer), s.kurtosis, s.max_over_rms, s.beyond_6_sigma);
    }
    LayerSummary layers[std::size(kColumns)];
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      layers[i] = over_layers(report, site, kColumns[i].value);
    }
    text += row("", "max", layers[0].max, layers[1].max, layers[2].max);
    text += row("", "mean", layers[0].mean, layers[1].mean, layers[2].mean);
  }
  return text;
}

}  // namespace

Json json_of(const EvalReport& report) {
  Json json = {{"checkpoint", report.checkpoint},
               {"val_loss", report.loss.mean()},
               {"val_ppl", perplexity(report.loss)},
               {"targets", report.loss.targets}};
  if (report.quantized) json["quantized"] = json_of(*report.quantized, report.loss);
  if (report.outliers) json["outliers"] = json_of(*report.outliers);
  return json;
}

std::string text_of(const EvalReport& report) {
  std::string text =
      fmt::format("{}: loss {:.4f}, perplexity {} over {} tokens\n", report.checkpoint,
                  report.loss.mean(), perplexity_text(report.loss.mean()), report.loss.targets);
  if (report.quantized) text += text_of(*report.quantized, report.loss);
  if (report.outliers) text += text_of(*report.outliers);
  return text;
}

}  // namespace dashlm
