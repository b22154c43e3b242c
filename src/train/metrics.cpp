#include "train/metrics.h"

#include <cmath>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "config/config.h"
#include "io/file.h"

namespace dashlm {
namespace {

// JSON has no NaN and no infinity. Other tools read null as missing.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// A line of another program has neither.
std::string kind_of(const Json& json) {
  const auto found = json.find("kind");
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t step_of(const Json& json) {
  const auto found = json.find("step");
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

}  // namespace

std::string perplexity_text(double loss) {
  const double perplexity = std::exp(loss);
  return perplexity < 1e6 ? fmt::format("{:.2f}", perplexity) : fmt::format("{:.3g}", perplexity);
}

std::string loss_text(double loss) {
  return fmt::format("validation loss {:.4f}, perplexity {}", loss, perplexity_text(loss));
}

std::optional<FinalResult> read_final_result(const std::string& path) {
  std::optional<FinalResult> result;
  if (!std::filesystem::exists(path)) return result;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"final\"") == std::string::npos) continue;  // parsing all would take long
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || kind_of(json) != "final" || json.contains("diverged")) continue;
    result = {step_of(json), json.contains("val_loss"), 0.0};
    if (!result->scored) continue;
    const Json& loss = json["val_loss"];
    result->val_loss = loss.is_number() ? loss.get<double>() : std::nan("");
  }
  return result;
}

void append_divergence(const std::string& path, int64_t step, int64_t tokens, double wall_seconds) {
  const Json json = {{"kind", "final"},    {"step", step},     {"diverged", true},
                     {"val_loss", Json()}, {"tokens", tokens}, {"wall_s", wall_seconds}};
  std::ofstream file(path, std::ios::app);
  file << json.dump() << "\n" << std::flush;
  if (!file) fail_runtime("cannot write to '{}': is the disk full?", path);
}

int64_t MetricsLog::remove_later_steps(const std::string& path, int64_t step) {
  int64_t evaluated = 0;
  if (!std::filesystem::exists(path)) return evaluated;
  const std::string text = read_text_file(path);
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || step_of(json) > step || kind_of(json) == "final") continue;
    kept += line + "\n";
    if (kind_of(json) == "eval") evaluated = step_of(json);
  }
  if (kept != text) write_text_file(path, kept);
  return evaluated;
}

MetricsLog::MetricsLog(const std::string& path, int64_t step)
    : path_(path), last_evaluated_(remove_later_steps(path, step)) {
  file_.open(path, std::ios::app);
  if (!file_) fail_runtime("cannot open '{}' for writing", path);
}

void MetricsLog::write(const std::string& line) {
  file_ << line << "\n" << std::flush;
  if (!file_) fail_runtime("cannot write to '{}': is the disk full?", path_);
}

void MetricsLog::train(const StepMetrics& m) {
  Json json = {{"kind", "train"},
               {"step", m.step},
               {"tokens", m.tokens},
               {"loss", number(m.loss)},
               {"lr", m.lr},
               {"grad_norm", number(m.grad_norm)},
               {"skipped", m.skipped},
               {"step_ms", m.step_ms},
               {"data_ms", m.data_ms},
               {"forward_backward_ms", m.forward_backward_ms},
               {"optimizer_ms", m.optimizer_ms},
               {"communication_ms", m.communication_ms},
               {"bytes_sent", m.bytes_sent},
               {"tokens_per_s", m.tokens_per_s}};
  if (m.mfu > 0) json["mfu"] = m.mfu;
  if (m.optimizer.roots > 0) {
    json["pack_ms"] = m.optimizer.pack;
    json["factors_ms"] = m.optimizer.factors;
    json["roots_ms"] = m.optimizer.roots;
    json["update_ms"] = m.optimizer.update;
  }
  write(json.dump());
}

void MetricsLog::blocks(int64_t step, const BlockStatistics& statistics, int rank) {
  Json json = {{"kind", "blocks"}, {"step", step}, {"group", statistics.group}};
  if (rank >= 0) json["rank"] = rank;
  for (const auto& [name, value] : statistics.values) json[name] = number(value);
  write(json.dump());
}

void MetricsLog::eval(int64_t step, double loss, int64_t tokens) {
  const Json json = {{"kind", "eval"},
                     {"step", step},
                     {"val_loss", number(loss)},
                     {"val_ppl", number(std::exp(loss))},
                     {"tokens", tokens}};
  write(json.dump());
}

void MetricsLog::final(int64_t step, double loss, int64_t tokens, double wall_seconds) {
  const Json json = {{"kind", "final"},          {"step", step},
                     {"val_loss", number(loss)}, {"val_ppl", number(std::exp(loss))},
                     {"tokens", tokens},         {"wall_s", wall_seconds}};
  write(json.dump());
}

void MetricsLog::final(int64_t step, int64_t tokens, double wall_seconds) {
  const Json json = {
      {"kind", "final"}, {"step", step}, {"tokens", tokens}, {"wall_s", wall_seconds}};
  write(json.dump());
}

}  // namespace dashlm
