#include "train/run_config.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "config/layers.h"
#include "config/paths.h"
#include "data/paths.h"
#include "io/file.h"
#include "model/parameters.h"
#include "train/run_directory.h"

namespace dashlm {
namespace fs = std::filesystem;

void TrainConfig::describe(Schema& s) {
  s.field("steps", steps, "optimizer steps of the whole run", {1, int64_t{1} << 40});
  s.field("batch", batch, "sequences a step, over all ranks", {1, int64_t{1} << 31});
  s.field("micro_batch", micro_batch, "sequences at once on one rank; 0: all of them", {0});
  s.field("lr", lr, "peak learning rate", {0.0, 1e3});
  schedule.describe(s);
  s.field("grad_clip", grad_clip, "largest norm of the whole gradient; 0: no clipping", {0.0, 1e9});
  s.field("precision", precision,
          "of weights and activations in the passes; bf16 keeps fp32 master weights, gradients, "
          "norms, softmax and losses");
  s.field(
      "residual", residual,
      "of the residual stream; bf16 needs train.precision = bf16, saves memory and loses digits");
  s.field("recompute", recompute,
          "keep only the input of each layer and compute the rest again in the backward pass: less "
          "memory, a third more work, the same gradients");
  s.field("seed", seed, "seed of the initial weights", {0});
  s.field("max_skipped_steps", max_skipped_steps,
          "steps in a row that may be skipped for a non-finite loss or gradient; one more ends the "
          "run with exit code 3",
          {0});
  s.field("log_every", log_every, "steps from one line of the log to the next", {1});
  s.field("compare_ranks_every", compare_ranks_every,
          "steps from one check that all ranks hold the same weights to the next; 0: none", {0});
  s.field(
      "stall_minutes", stall_minutes,
      "minutes without a step, a validation batch or a checkpoint after which several ranks give "
      "up, with exit code 2; ten times the longest so far if that is more; 0: never",
      {0.0, 1e6});
}

void EvalConfig::describe(Schema& s) {
  s.field("every", every, "steps from one validation to the next; 0: none during training", {0});
  s.field("batches", batches,
          "validation batches (of train.batch sequences, whatever train.micro_batch) each time; 0: "
          "all",
          {0});
  s.field(
      "final", final,
      "use the whole validation set at the end of the run; a validation that is due at the last "
      "step is left to it");
}

void CheckpointConfig::describe(Schema& s) {
  s.field("every", every, "steps from one checkpoint to the next; 0: only at the end", {0});
  s.field("keep", keep, "newest checkpoints that are kept", {1});
}

void RunConfig::describe(Schema& s) {
  s.field("device", device, "\"auto\", \"cpu\" or \"cuda\"");
  s.field("threads", threads, "CPU threads of a rank; 0: one per processor it may use", {0, 1024});
  s.path("out", out, "directory of the run; --out overrides it");
  s.section("model", model, "shape of the Llama");
  s.section("data", data, "tokens");
  s.section("train", train, "the training loop");
  s.section("eval", eval, "validation");
  s.section("checkpoint", checkpoint, "saving");
  s.section("optimizer", optimizer, "the optimizer and its options");
}

void RunConfig::resolve() {
  model.resolve();
  if (train.micro_batch == 0) train.micro_batch = train.batch;
  require(train.micro_batch <= train.batch, "train.micro_batch = {} is more than train.batch = {}",
          train.micro_batch, train.batch);
  require(train.residual == ModelPrecision::fp32 || train.precision == ModelPrecision::bf16,
          "train.residual = bf16 needs train.precision = bf16");
  constexpr int64_t kMostTokens = int64_t{1} << 31;  // keeps every size well within 64 bits
  require(
      train.micro_batch * model.seq_len <= kMostTokens,
      "train.micro_batch = {} sequences of model.seq_len = {} tokens are more than {} tokens at "
      "once; set a smaller train.micro_batch",
      train.micro_batch, model.seq_len, kMostTokens);
  train.schedule.resolve(train.steps);
}

namespace {

std::string idle_warning(const RunConfig& config) {
  if (config.train.lr == 0) return "nothing is trained: train.lr is 0";
  const std::vector<double> scales =
      lr_multipliers(config.optimizer, llama_parameters(config.model));
  const bool frozen = std::ranges::all_of(scales, [](double scale) { return scale == 0; });
  return frozen ? "nothing is trained: optimizer.groups freeze every parameter" : "";
}

}  // namespace

std::vector<std::string> RunConfig::warnings() const {
  std::vector<std::string> found = notes;
  found.push_back(train.schedule.warning(train.steps));
  found.push_back(idle_warning(*this));
  for (std::string& text : optimizer.warnings(train.steps)) found.push_back(std::move(text));
  std::erase(found, "");
  return found;
}

namespace {

bool is_there(const std::string& path) {
  try {
    expand_paths(
        {path}, [](const std::string&) { return true; }, "files");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Older versions took paths in files as relative to the current folder.
void require_new_place(const std::string& path, const Origin& origin, const std::string& key) {
  const std::string wanted = resolve_path(path, origin.folder, key, true),
                    old = resolve_path(path, "", key, true);
  if (wanted == old || is_there(wanted) || !is_there(old)) return;
  const std::string folder = resolve_path(".", origin.folder, key);
  fail_input(
      "{}: \"{}\": there is no '{}' in '{}', the folder of the file, but there is in '{}', the "
      "current folder. Paths in a config are relative to its file: write '{}'",
      origin.where(), key, path, folder, resolve_path(".", "", key),
      fs::path(old).lexically_relative(folder).string());
}

void require_new_places(const ConfigLayers& layers) {
  if (!layers.json.contains("data")) return;
  for (const char* key : {"train", "val", "tokenizer"}) {
    const Json value = layers.json["data"].value(key, Json());
    const std::string path = std::string("data.") + key;
    for (const Json& item : value.is_array() ? value : Json::array({value})) {
      const std::string text = item.is_string() ? item.get<std::string>() : "";
      if (!text.empty()) require_new_place(text, layers.origin_of(path), path);
    }
  }
}

}  // namespace

void complete_older_settings(Json& settings) {
  if (!settings.contains("optimizer") || !settings["optimizer"].is_object()) return;
  Json& optimizer = settings["optimizer"];
  const auto is = [](const Json& json, const char* type) {
    return json.is_object() && json.value("type", Json()) == type;
  };
  const bool shampoo = is(optimizer, "shampoo");
  if (!shampoo && !is(optimizer, "dash")) return;
  if (shampoo) optimizer.emplace("decay_in_momentum", false);
  Json& root = optimizer["inverse_root"];
  if (is(root, "evd")) root.emplace("rank_rtol", 0.0);
}

RunConfig load_run_config(const std::string& path, const std::vector<std::string>& overrides) {
  ConfigLayers layers = load_config_layers(path);
  if (is_config_of_run(path)) {
    for (auto& [key, origin] : layers.origins) origin.folder = "";
    layers.json["out"] = folder_of(path);  // the run may have been moved
    complete_older_settings(layers.json);
  }
  apply_overrides(layers, overrides);
  RunConfig config;
  read_config(
      layers, [&](Schema& s) { config.describe(s); }, [](Schema& s) { RunConfig().describe(s); });
  require_new_places(layers);
  config.notes = layers.notes;
  config.resolve();
  return config;
}

RunConfig parse_run_config(const std::string& text, const std::string& source) {
  RunConfig config;
  read_config(parse_json(text, source), source, [&](Schema& s) { config.describe(s); });
  config.resolve();
  return config;
}

std::string run_config_text(RunConfig config) {
  return write_config([&](Schema& s) { config.describe(s); }).dump(2) + "\n";
}

}  // namespace dashlm
