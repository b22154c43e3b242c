#include "train/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "io/safetensors.h"
#include "model/hf_format.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

// Items are filled one at a time as they are written, so that saving needs memory for the largest
// tensor only.
std::vector<SafetensorsItem> weight_items(Engine& engine, const std::vector<HfTensor>& tensors) {
  std::vector<SafetensorsItem> items;
  for (const HfTensor& tensor : tensors) {
    items.push_back({tensor.name, DType::f32, tensor.shape, [&](void* out) {
                       const Tensor part =
                           engine.weights().rows(tensor.offset, tensor.shape.elements());
                       std::vector<float> host(static_cast<size_t>(part.elements()));
                       engine.device().download(host.data(), part.data, part.bytes());
                       tensor.encode(host.data(), static_cast<float*>(out));
                     }});
  }
  return items;
}

std::vector<SafetensorsItem> state_items(Engine& engine) {
  std::vector<SafetensorsItem> items;
  for (const Tensor& tensor : engine.optimizer().state()) {
    items.push_back({tensor.name, tensor.dtype, tensor.shape, [&engine, tensor](void* out) {
                       engine.device().download(out, tensor.data, tensor.bytes());
                     }});
  }
  return items;
}

void write_file(CheckpointWriter& writer, const std::string& name,
                const std::function<void(FileWriter&)>& body) {
  const auto file = writer.file(name);
  body(*file);
  writer.finish(*file);
}

void write_text(CheckpointWriter& writer, const std::string& name, const std::string& text) {
  write_file(writer, name,
             [&](FileWriter& file) { file.write(text.data(), static_cast<int64_t>(text.size())); });
}

Json read_run_json(const std::string& folder) {
  const std::string path = folder + "/run.json";
  return parse_json(read_text_file(path), path);
}

// Calls differ(key, old, new) for each value in which two JSON objects differ, by dotted path.
void for_differences(
    const Json& old_json, const Json& new_json, const std::string& prefix,
    const std::function<void(const std::string&, const Json&, const Json&)>& differ) {
  for (const auto& [key, value] : new_json.items()) {
    const Json before = old_json.contains(key) ? old_json[key] : Json();
    if (value.is_object() && before.is_object()) {
      for_differences(before, value, prefix + key + ".", differ);
    } else if (before != value) {
      differ(prefix + key, before, value);
    }
  }
}

// Keys that may change on resume without a word: they do not affect the results.
bool is_harmless(const std::string& key) {
  static const char* const harmless[] = {"out",           "threads",         "device",
                                         "data.train",    "data.val",        "data.tokenizer",
                                         "data.prefetch", "train.recompute", "train.log_every"};
  return key.starts_with("checkpoint.") || key.starts_with("eval.") ||
         std::find(std::begin(harmless), std::end(harmless), key) != std::end(harmless);
}

void compare_configs(const std::string& folder, const Json& saved, const RunConfig& config) {
  const Json now = parse_json(run_config_text(config), "config");
  for_differences(
      saved, now, "", [&](const std::string& key, const Json& before, const Json& value) {
        const bool decides_tensors =
            (key.starts_with("model.") && key != "model.init_std") || key == "optimizer.type";
        require(!decides_tensors,
                "cannot resume from '{}': it has {} = {}, the config has {}; give the run another "
                "--out "
                "or restore the value",
                folder, key, before.dump(), value.dump());
        if (!is_harmless(key)) {
          spdlog::warn("resuming with {} = {}, which was {} when the checkpoint was written", key,
                       value.dump(), before.dump());
        }
      });
}

void require_same_names(const SafetensorsReader& file, const std::vector<std::string>& wanted) {
  for (const auto& [name, entry] : file.entries()) {
    require(std::find(wanted.begin(), wanted.end(), name) != wanted.end(),
            "{}: unexpected tensor '{}'", file.path(), name);
  }
}

void load_state(const std::string& folder, Engine& engine) {
  const SafetensorsReader file(folder + "/optimizer.safetensors");
  std::vector<std::string> names;
  for (const Tensor& tensor : engine.optimizer().state()) {
    std::vector<char> host(static_cast<size_t>(tensor.bytes()));
    file.read(tensor.name, tensor.dtype, tensor.shape, host.data());
    engine.device().upload(tensor.data, host.data(), tensor.bytes());
    names.push_back(tensor.name);
  }
  require_same_names(file, names);
}

}  // namespace

void RunState::describe(Schema& s) {
  s.field("step", step, "steps done, skipped ones included", {0});
  s.field("updates", updates, "steps that changed the weights", {0});
  s.field("tokens", tokens, "tokens trained on", {0});
  s.field("epoch", position.epoch, "epoch of the next sequence", {0});
  s.field("index", position.index, "index of the next sequence in its epoch", {0});
  s.field("skipped", skipped, "steps skipped for a non-finite loss or gradient", {0});
  s.field("skipped_in_a_row", skipped_in_a_row, "of them, those just before this point", {0});
  s.field("seconds", seconds, "time spent training, over all resumptions");
  s.field("data_fingerprint", data_fingerprint, "of the training tokens");
}

std::string save_checkpoint(CheckpointStore& store, Engine& engine, const RunConfig& config,
                            const RunState& state) {
  const auto writer = store.begin(state.step);
  const std::vector<HfTensor> tensors = hf_tensors(config.model, engine.layout());
  write_file(*writer, "model.safetensors", [&](FileWriter& file) {
    write_safetensors(file, weight_items(engine, tensors), {{"format", "pt"}});
  });
  write_file(*writer, "optimizer.safetensors",
             [&](FileWriter& file) { write_safetensors(file, state_items(engine)); });
  write_text(*writer, "config.json", hf_config_text(config.model));

  RunState copy = state;
  Json run = Json::object();
  run["state"] = write_config([&](Schema& s) { copy.describe(s); });
  run["config"] = parse_json(run_config_text(config), "config");
  write_text(*writer, "run.json", run.dump(2) + "\n");
  return writer->commit();
}

RunState restore_checkpoint(const std::string& folder, Engine& engine, const RunConfig& config,
                            int64_t data_fingerprint) {
  const Json run = read_run_json(folder);
  compare_configs(folder, run.at("config"), config);
  RunState state;
  read_config(run.at("state"), folder + "/run.json", [&](Schema& s) { state.describe(s); });
  require(state.data_fingerprint == data_fingerprint,
          "cannot resume from '{}': the files in data.train are not those it was trained on "
          "(names, sizes or content differ)",
          folder);
  load_weights(folder, config.model, engine.layout(), engine.device(), engine.weights());
  load_state(folder, engine);
  return state;
}

RunConfig read_checkpoint_config(const std::string& folder) {
  const Json run = read_run_json(folder);
  return parse_run_config(run.at("config").dump(), folder + "/run.json");
}

void load_weights(const std::string& folder, const ModelConfig& config,
                  const ParameterLayout& layout, Device& device, const Tensor& weights) {
  const SafetensorsReader file(folder + "/model.safetensors");
  std::vector<std::string> names;
  for (const HfTensor& tensor : hf_tensors(config, layout)) {
    const auto elements = static_cast<size_t>(tensor.shape.elements());
    std::vector<float> stored(elements), ours(elements);
    file.read(tensor.name, DType::f32, tensor.shape, stored.data());
    tensor.decode(stored.data(), ours.data());
    const Tensor part = weights.rows(tensor.offset, tensor.shape.elements());
    device.upload(part.data, ours.data(), part.bytes());
    names.push_back(tensor.name);
  }
  require_same_names(file, names);
}

std::string find_checkpoint(const std::string& path) {
  require(fs::is_directory(path), "'{}' is neither a checkpoint nor a run directory", path);
  if (fs::exists(fs::path(path) / "manifest.json")) {
    CheckpointStore::verify(path);
    return path;
  }
  const std::string folder = CheckpointStore(path + "/checkpoints", 1).newest_sound();
  require(!folder.empty(), "'{}' holds no complete checkpoint", path);
  return folder;
}

}  // namespace dashlm
