#include "train/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "dist/ownership.h"
#include "io/safetensors_set.h"
#include "model/hf_format.h"
#include "tensor/host_copy.h"
#include "train/master_weights.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

// Items are filled one at a time while they are written, so saving needs memory for the largest
// tensor only.
SafetensorsItem weight_item(Engine& engine, const HfTensor& tensor) {
  return {tensor.name, engine.weights().dtype, tensor.shape, [&](void* out) {
            const Tensor part = engine.weights().rows(tensor.offset, tensor.shape.elements());
            std::vector<char> host(static_cast<size_t>(part.bytes()));
            engine.device().download(host.data(), part.data, part.bytes());
            tensor.encode(host.data(), out, size_of(part.dtype));
          }};
}

// The name of the f32 weights of a block. They are saved if the model's weights are rounded.
std::string master_name(const Block& block) {
  return "weights of " + block.name;
}

// The blocks with such weights.
std::vector<Block> master_blocks(const Engine& engine) {
  return engine.weights().dtype == DType::f32 ? std::vector<Block>{} : engine.own_blocks();
}

std::vector<SafetensorsItem> state_items(Engine& engine) {
  std::vector<SafetensorsItem> items;
  for (const Tensor& tensor : engine.optimizer().state()) {
    items.push_back({tensor.name, tensor.dtype, tensor.shape, [&engine, tensor](void* out) {
                       engine.device().download(out, tensor.data, tensor.bytes());
                     }});
  }
  for (const Block& block : master_blocks(engine)) {
    const BlockPlace place = block.place;
    items.push_back(
        {master_name(block), DType::f32, {place.rows, place.cols}, [&engine, place](void* out) {
           download_block(engine.device(), engine.own_weights(), place, static_cast<float*>(out));
         }});
  }
  return items;
}

// The writer of each tensor of the model, and the number of parts.
struct WeightFiles {
  int count = 1;
  std::vector<int> writer;  // by tensor

  WeightFiles(const std::vector<HfTensor>& tensors, int ranks)
      : count(static_cast<int>(std::min<int64_t>(ranks, std::ssize(tensors)))) {
    std::vector<double> sizes;
    for (const HfTensor& t : tensors) sizes.push_back(static_cast<double>(t.shape.elements()));
    writer = share_out(sizes, count);
  }
  std::string name(int part) const { return safetensors_part_name("model", part, count); }
};

void write_weights(CheckpointPart& part, Engine& engine, const ModelConfig& config) {
  const int rank = engine.communicator().rank();
  const std::vector<HfTensor> tensors = hf_tensors(config, engine.layout());
  const WeightFiles files(tensors, engine.communicator().size());
  if (rank >= files.count) return;
  std::vector<SafetensorsItem> items;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (files.writer[i] == rank) items.push_back(weight_item(engine, tensors[i]));
  }
  part.write(files.name(rank), [&](FileWriter& file) {
    write_safetensors(file, items, {{"format", "pt"}});
  });
  if (rank > 0 || files.count == 1) return;
  // The index tells transformers the part that holds a tensor.
  Json index = {{"metadata", {{"total_size", engine.weights().bytes()}}}};
  for (size_t i = 0; i < tensors.size(); ++i) {
    index["weight_map"][tensors[i].name] = files.name(files.writer[i]);
  }
  part.write_text("model.safetensors.index.json", index.dump(2) + "\n");
}

std::string run_json_path(const std::string& folder) {
  return folder + "/run.json";
}

void require_object(const Json& in, const char* key, const std::string& path) {
  require(
      in.is_object() && in.contains(key) && in[key].is_object(),
      "'{}' is not what dashlm writes: it needs an object \"{}\"; remove this checkpoint to go on "
      "from the one before, or restore the file",
      path, key);
}

// So that keys can be compared one by one: older versions had lr_scale where there are groups now.
Json in_present_form(const Json& optimizer, const std::string& path) {
  OptimizerConfig config;
  const Describe describe = [&](Schema& s) { s.section("optimizer", config, ""); };
  read_config({{"optimizer", optimizer}}, path, describe);
  return write_config(describe)["optimizer"];
}

// {"state": {...}, "config": {"model": {...}, ...}}
Json read_run_json(const std::string& folder) {
  const std::string path = run_json_path(folder);
  Json run = parse_json(read_text_file(path), path);
  for (const char* part : {"state", "config"}) require_object(run, part, path);
  for (const char* section : {"model", "data", "train", "optimizer"}) {
    require_object(run["config"], section, path);
  }
  complete_older_settings(run["config"]);
  run["config"]["optimizer"] = in_present_form(run["config"]["optimizer"], path);
  return run;
}

// A missing value would pass for the value at the beginning of a run.
RunState state_of(const Json& run, const std::string& path) {
  RunState state;
  const Json all = write_config([&](Schema& s) { state.describe(s); });
  for (const auto& [key, unused] : all.items()) {
    require(run["state"].contains(key), "'{}' is not what dashlm writes: \"state\" has no \"{}\"",
            path, key);
  }
  read_config(run["state"], path, [&](Schema& s) { state.describe(s); });
  return state;
}

// Keys that may change on resume without a warning, since they do not affect the results.
bool is_harmless(const std::string& key) {
  static const char* const harmless[] = {"out",
                                         "threads",
                                         "device",
                                         "data.train",
                                         "data.val",
                                         "data.tokenizer",
                                         "data.prefetch",
                                         "train.recompute",
                                         "train.log_every",
                                         "train.compare_ranks_every",
                                         "train.stall_minutes"};
  return key.starts_with("checkpoint.") || key.starts_with("eval.") ||
         std::find(std::begin(harmless), std::end(harmless), key) != std::end(harmless);
}

// A value for a message; the beginning of a long list.
std::string shown(const Json& value) {
  constexpr size_t kMost = 100;
  const std::string text = value.dump();
  return value.is_array() && text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

// Whether the value of `key` follows from the other keys: it stays the same without the key.
bool follows(const Json& config, const std::string& key) {
  Json rest = config;
  Json::json_pointer pointer;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) pointer.push_back(part);
  rest.at(pointer.parent_pointer()).erase(pointer.back());
  try {
    const RunConfig resolved = parse_run_config(rest.dump(), "config");
    return parse_json(run_config_text(resolved), "config").at(pointer) == config.at(pointer);
  } catch (const Error&) {  // the other keys do not fit its default
    return false;
  }
}

void compare_configs(const std::string& folder, const Json& saved, const RunConfig& config,
                     bool warn) {
  const Json now = parse_json(run_config_text(config), "config");
  // The change follows from the change of another key.
  const auto is_consequence = [&](const std::string& key, const Json& before) {
    const bool type = key.ends_with(".type");  // decides which keys are beside it
    return !type && !before.is_null() && follows(saved, key) && follows(now, key);
  };
  for_differences(saved, now, [&](const std::string& key, const Json& before, const Json& value) {
    const bool decides_tensors = (key.starts_with("model.") && key != "model.init_std") ||
                                 key == "optimizer.type" || key == "train.precision";
    require(!decides_tensors,
            "cannot resume from '{}': it has {} = {}, the config has {}; give the run another "
            "--out "
            "or restore the value",
            folder, key, shown(before), shown(value));
    if (warn && !is_harmless(key) && !is_consequence(key, before)) {
      spdlog::warn("resuming with {} = {}, which was {} in '{}'", key, shown(value), shown(before),
                   folder);
    }
  });
}

// `now` with those settings of the checkpoint that decide the learning rate.
TrainConfig with_rate_of(const Json& saved, TrainConfig now, const std::string& path) {
  Json rate = Json::object();
  for (const char* key :
       {"steps", "lr", "schedule", "warmup_steps", "decay_steps", "lr_start", "lr_final"}) {
    if (saved.contains(key)) rate[key] = saved[key];
  }
  read_config(rate, path, [&](Schema& s) { now.describe(s); });
  return now;
}

// `step` counts from 0.
void warn_of_another_rate(TrainConfig before, TrainConfig now, int64_t step) {
  const auto text = [](TrainConfig& train) {
    return write_config([&](Schema& s) { train.describe(s); });
  };
  if (text(before) == text(now)) return;
  const double rate = now.rate(step);
  if (step >= before.steps) {
    spdlog::warn("the learning rate of step {} is {:.4g}; the schedule so far ended with {:.4g}",
                 step + 1, rate, before.rate(before.steps - 1));
  } else {
    spdlog::warn("the learning rate of step {} is {:.4g}; by the settings so far it was {:.4g}",
                 step + 1, rate, before.rate(step));
  }
}

// Warns about the effect of changed settings on the coming steps.
void warn_of_consequences(const Json& saved, const RunConfig& config, const RunState& state,
                          const std::string& path) {
  const TrainConfig before = with_rate_of(saved["train"], config.train, path);
  if (state.step == config.train.steps) return;  // no step is to come
  warn_of_another_rate(before, config.train, state.step);
  if (saved["data"].contains("seed") && saved["data"]["seed"] != Json(config.data.seed)) {
    spdlog::warn(
        "with another data.seed the training sequences come in another order from step {} on: of "
        "those in epoch {} some come twice and some not at all",
        state.step + 1, state.position.epoch + 1);
  }
}

// `wanted` are the tensors that this rank reads. All ranks together must read all of `files`.
void require_no_others(Communicator& communicator, const SafetensorsSet& files,
                       const std::vector<std::string>& wanted) {
  const auto count = static_cast<double>(wanted.size());
  if (communicator.sum(std::vector{count})[0] == static_cast<double>(files.size())) return;
  std::set<std::string> known;
  for (const std::string& list :
       communicator.exchange(fmt::format("{}", fmt::join(wanted, "\n")))) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name);) known.insert(name);
  }
  for (const std::string& name : files.names()) {
    require(known.contains(name), "'{}': unexpected tensor \"{}\"", files.path(), name);
  }
}

void load_state(const std::string& folder, Engine& engine) {
  const SafetensorsSet files(folder, "optimizer");
  std::vector<std::string> names;
  for (const Tensor& tensor : engine.optimizer().state()) {
    std::vector<char> host(static_cast<size_t>(tensor.bytes()));
    files.read(tensor.name, tensor.dtype, tensor.shape, host.data());
    engine.device().upload(tensor.data, host.data(), tensor.bytes());
    names.push_back(tensor.name);
  }
  for (const Block& block : master_blocks(engine)) {
    const BlockPlace& place = block.place;
    std::vector<float> host(static_cast<size_t>(place.elements()));
    files.read(master_name(block), DType::f32, {place.rows, place.cols}, host.data());
    upload_block(engine.device(), engine.own_weights(), place, host.data());
    names.push_back(master_name(block));
  }
  require_no_others(engine.communicator(), files, names);
}

// The optimizer's settings decide the names and shapes of the state's tensors.
void load_state(const std::string& folder, Engine& engine, const Json& saved,
                const RunConfig& config) {
  try {
    load_state(folder, engine);
  } catch (const Error& error) {
    const Json now = parse_json(run_config_text(config), "config");
    std::string changed;
    for_differences(
        saved["optimizer"], now["optimizer"],
        [&](const std::string& key, const Json& before, const Json& value) {
          changed += fmt::format("; {} = {}, the config has {}", key, shown(before), shown(value));
        },
        "optimizer.");
    if (changed.empty() || error.code() != ExitCode::bad_input) throw;
    throw Error(error.code(),
                fmt::format("cannot resume from '{}': its optimizer had other settings, and "
                            "therefore another state{}; restore the value, or give the run another "
                            "--out ({})",
                            folder, changed, error.what()));
  }
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
  s.field("seconds", seconds, "wall time of the run so far, over all resumptions");
  s.field("data_fingerprint", data_fingerprint, "of the training tokens");
}

std::string save_checkpoint(CheckpointStore& store, Engine& engine, const RunConfig& config,
                            const RunState& state, const HfTokenizer& tokenizer) {
  Communicator& communicator = engine.communicator();
  const int rank = communicator.rank();
  engine.settle();
  const auto writer = rank == 0 ? store.begin(state.step) : nullptr;
  const std::string folder = communicator.exchange(writer ? writer->folder() : "")[0];

  CheckpointPart part(folder);
  write_weights(part, engine, config.model);
  part.write(safetensors_part_name("optimizer", rank, communicator.size()),
             [&](FileWriter& file) { write_safetensors(file, state_items(engine)); });
  if (rank == 0) {
    RunState copy = state;
    Json run = Json::object();
    run["state"] = write_config([&](Schema& s) { copy.describe(s); });
    run["config"] = parse_json(run_config_text(config), "config");
    part.write_text("run.json", run.dump(2) + "\n");
    part.write_text("config.json", hf_config_text(config.model, engine.weights().dtype,
                                                  tokenizer.bos, tokenizer.eos));
    for (const auto& [name, content] : tokenizer.files) part.write_text(name, content);
  }

  std::string final_folder;
  for (const std::string& files : communicator.exchange(checkpoint_files_text(part.files()))) {
    if (writer) writer->add(checkpoint_files_from(files));
  }
  if (writer) final_folder = writer->commit();
  return communicator.exchange(final_folder)[0];
}

RunState restore_checkpoint(const std::string& folder, Engine& engine, const RunConfig& config,
                            int64_t data_fingerprint) {
  const Json run = read_run_json(folder);
  const bool warn = engine.communicator().rank() == 0;
  compare_configs(folder, run["config"], config, warn);
  const RunState state = state_of(run, run_json_path(folder));
  require(state.step <= config.train.steps,
          "cannot resume from '{}': it has done {} steps, but train.steps = {}; set train.steps to "
          "at least {}, or give the run another --out",
          folder, state.step, config.train.steps, state.step);
  require(state.data_fingerprint == data_fingerprint,
          "cannot resume from '{}': the files in data.train are not those it was trained on "
          "(names, sizes or content differ)",
          folder);
  if (warn) warn_of_consequences(run["config"], config, state, run_json_path(folder));
  load_weights(folder, config.model, engine.layout(), engine.device(), engine.staging());
  engine.weights_were_set();
  load_state(folder, engine, run["config"], config);
  return state;
}

void compare_with_config_of_run(const std::string& path, const RunConfig& config) {
  compare_configs(path, parse_json(read_text_file(path), path), config, /*warn=*/true);
}

RunState read_checkpoint_state(const std::string& folder) {
  return state_of(read_run_json(folder), run_json_path(folder));
}

RunConfig read_checkpoint_config(const std::string& folder) {
  return parse_run_config(read_run_json(folder)["config"].dump(), run_json_path(folder));
}

void load_weights(const std::string& folder, const ModelConfig& config,
                  const ParameterLayout& layout, Device& device, const Tensor& weights) {
  const SafetensorsSet files(folder, "model");
  std::vector<std::string> names;
  for (const HfTensor& tensor : hf_tensors(config, layout)) {
    const std::vector<float> stored = files.read_f32(tensor.name, tensor.shape);
    std::vector<float> ours(stored.size());
    tensor.decode(stored.data(), ours.data());
    from_host(device, weights.rows(tensor.offset, tensor.shape.elements()), ours);
    names.push_back(tensor.name);
  }
  LoneCommunicator alone;
  require_no_others(alone, files, names);
}

std::string find_checkpoint(const std::string& path) {
  require(fs::is_directory(path), "'{}' is neither a checkpoint nor a run directory", path);
  if (fs::exists(fs::path(path) / "manifest.json")) {
    CheckpointStore::verify(path);
    return path;
  }
  for (const std::string& folder : {path + "/checkpoints", path}) {
    if (CheckpointStore(folder, 1).steps().empty()) continue;
    std::string newest = CheckpointStore(folder, 1).newest_sound();
    require(!newest.empty(), "every checkpoint in '{}' is damaged; see the warnings above", folder);
    return newest;
  }
  fail_input(
      "'{}' holds no complete checkpoint; give the directory of a run (which has "
      "checkpoints/step_XXXXXXXX) or one of its checkpoints",
      path);
}

}  // namespace dashlm
