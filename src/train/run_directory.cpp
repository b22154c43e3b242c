#include "train/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "io/checkpoint_store.h"
#include "io/file.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

bool has(const std::string& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / name, ignored);
}

bool has_checkpoints(const std::string& folder) {
  return !CheckpointStore(folder, 1).steps().empty();
}

// Whether the folder holds checkpoints alone, complete or not.
bool is_for_checkpoints_only(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().find("step_") == std::string::npos) return false;
  }
  return !error;
}

bool holds_run(const std::string& folder) {
  return has(folder, "metrics.jsonl") || has_checkpoints(folder + "/checkpoints") ||
         (has(folder, "config.json") && is_for_checkpoints_only(folder + "/checkpoints"));
}

bool is_checkpoint(const std::string& folder) {
  return has(folder, "manifest.json") && has(folder, "run.json");
}

// Recognised by keys of its config.json that transformers writes and no config of dashlm has.
bool is_model(const std::string& folder) {
  if (!has(folder, "config.json")) return false;
  const Json json = Json::parse(read_text_file(folder + "/config.json"), nullptr,
                                /*allow_exceptions=*/false);
  return json.is_object() && (json.contains("model_type") || json.contains("architectures"));
}

// The path without "..", links and a slash at the end, so that the names of the folder and its
// parents are plain.
fs::path plain(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path), error);
  const fs::path result = error ? fs::path(path) : absolute;
  return result.has_filename() ? result : result.parent_path();
}

bool is_folder_of_checkpoints(const std::string& folder) {
  const fs::path path = plain(folder);
  return has_checkpoints(folder) ||
         (path.filename() == "checkpoints" && holds_run(path.parent_path().string()));
}

// " of the run 'r'; name that", if there is a run.
std::string of_run(const fs::path& folder) {
  const std::string run = folder.string();
  return holds_run(run) ? fmt::format(" of the run '{}'; name that instead", run) : "";
}

// "notes.txt, a.bin and 3 more"
std::string content_of(const std::string& folder) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  require(!error, "cannot look into '{}': {}", folder, error.message());
  std::sort(names.begin(), names.end());
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// The content of `path` as the end of a sentence, if it is neither a run nor a place for one; else
// "".
std::string what_is_in_the_way(const std::string& path) {
  std::error_code ignored;
  const fs::path parent = plain(path).parent_path();
  if (is_checkpoint(path)) return "is a checkpoint" + of_run(parent.parent_path());
  if (is_folder_of_checkpoints(parent.string())) {  // old ones are removed there
    return "lies among the checkpoints" + of_run(parent.parent_path());
  }
  if (!fs::exists(path, ignored)) return "";
  if (!fs::is_directory(path, ignored)) return "is a file";
  if (has(path, "dataset.json")) return "is the folder of a dataset";
  if (is_model(path)) return "is the folder of a model in Hugging Face's format";
  if (is_folder_of_checkpoints(path)) {
    return "is the folder of checkpoints" + of_run(parent);
  }
  if (holds_run(path) || !has(path, "config.json")) return "";
  return "has a config.json that no run wrote and that a run would overwrite";
}

// The content of `path` as the end of a sentence, if a run could begin there.
std::string what_is_there_instead(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return "does not exist";
  const std::string content = content_of(path);
  return content.empty() ? "is empty" : "holds no run, but " + content;
}

}  // namespace

void require_place_for_run(const std::string& path, RunStart start) {
  const std::string obstacle = what_is_in_the_way(path);
  require(obstacle.empty(),
          "--out must be the directory of a run, but '{}' {}; nothing was changed there", path,
          obstacle);
  const bool found = holds_run(path);
  require(start != RunStart::anew || !found,
          "'{}' already holds a run; continue it with --resume, or choose another --out", path);
  if (start != RunStart::resume || found) return;
  fail_input(
      "there is no run to resume: '{}' {}; correct --out, or start a run there without --resume "
      "(--resume-or-start does either)",
      path, what_is_there_instead(path));
}

bool is_config_of_run(const std::string& path) {
  return fs::path(path).filename() == "config.json" && holds_run(folder_of(path));
}

}  // namespace dashlm
