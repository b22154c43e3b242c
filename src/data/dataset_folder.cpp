#include "data/dataset_folder.h"

#include <glob.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/paths.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "dataset.json";
constexpr const char* kUnfinished = ".unfinished";
constexpr const char* kTokenizer = "tokenizer.model";

[[noreturn]] void fail_unfinished(const std::string& folder) {
  fail_input(
      "the dataset in {} is not finished: `dashlm tokenize` was broken off there, or is still at "
      "work; let it end, or run the same command again to make the dataset whole",
      folder);
}

// The folders that match a pattern, or the folder itself.
std::vector<std::string> folders_of(const std::string& folder) {
  if (path_exists(folder)) return {folder};
  glob_t found = {};
  ::glob(folder.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> folders(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return folders;
}

std::vector<WrittenShard> shards_of(const nlohmann::json& part) {
  std::vector<WrittenShard> shards;
  for (const nlohmann::json& shard : part.at("shards")) {
    const auto crc = std::stoul(shard.at("crc32").get<std::string>(), nullptr, 16);
    shards.push_back({shard.at("file").get<std::string>(), shard.at("tokens").get<int64_t>(),
                      shard.at("bytes").get<int64_t>(), static_cast<uint32_t>(crc)});
  }
  return shards;
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_runtime("cannot remove '{}': {}", path.string(), error.message());
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    fail_runtime("cannot move '{}' to '{}': {}", from.string(), to.string(), error.message());
}

bool is_in_own_format(const std::string& path) {
  const FileReader file(path);
  std::vector<uint8_t> head(static_cast<size_t>(std::min(kShardHeadBytes, file.bytes())));
  file.read_at(0, head.data(), std::ssize(head));
  const ShardLayout layout = read_shard_layout(path, head.data(), std::ssize(head), file.bytes());
  return layout.format == ShardFormat::dashlm;
}

// Throws unless every shard of a part exists with its full size.
void require_whole_part(const std::string& folder, const std::vector<WrittenShard>& listed,
                        const char* part) {
  for (const WrittenShard& shard : listed) {
    const std::string path = folder + "/" + shard.file;
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
    require(!error,
            "the dataset in {} is not whole: dataset.json lists {} {} shards, but {} is missing; "
            "copy it again, or make the dataset again with `dashlm tokenize`",
            folder, listed.size(), part, shard.file);
    require(bytes == shard.bytes,
            "{} has {} bytes, but dataset.json says {}; copy it again, or make the dataset again "
            "with `dashlm tokenize`",
            path, bytes, shard.bytes);
  }
}

// The names of a part's shards. Throws unless the part is whole.
class WholeParts {
 public:
  const std::set<std::string>& names(const std::string& folder, bool train) {
    const auto [part, is_new] = parts_.try_emplace({folder, train});
    if (is_new) {
      const DatasetManifest manifest = read_manifest(folder);
      const std::vector<WrittenShard>& listed = train ? manifest.train : manifest.val;
      require_whole_part(folder, listed, train ? "training" : "validation");
      for (const WrittenShard& shard : listed) part->second.insert(shard.file);
    }
    return part->second;
  }

 private:
  std::map<std::pair<std::string, bool>, std::set<std::string>> parts_;
};

}  // namespace

bool has_manifest(const std::string& folder) {
  return path_exists(folder + "/" + kManifest);
}

bool is_unfinished(const std::string& folder) {
  return path_exists(folder + "/" + kUnfinished) && !has_manifest(folder);
}

DatasetManifest read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifest;
  const std::string text = read_text_file(path);
  DatasetManifest manifest;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    manifest.vocab_size = json.at("vocab_size").get<int64_t>();
    manifest.tokenizer_crc = static_cast<uint32_t>(
        std::stoul(json.at("tokenizer_crc32").get<std::string>(), nullptr, 16));
    manifest.train = shards_of(json.at("train"));
    manifest.val = shards_of(json.at("val"));
  } catch (const std::exception& error) {  // from JSON, or from stoul
    fail_input(
        "{} is damaged, or does not describe a dataset of `dashlm tokenize` ({}); copy or make the "
        "dataset again",
        path, error.what());
  }
  return manifest;
}

bool is_shard_name(const std::string& name) {
  const auto numbered = [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() == prefix.size() + 9 && name.ends_with(".bin") &&
           std::all_of(name.begin() + static_cast<int64_t>(prefix.size()), name.end() - 4,
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  return numbered("train_") || numbered("val_");
}

std::vector<std::string> shards_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_shard_name(name)) names.push_back(name);
  }
  require(!error, "cannot read directory {}: {}", folder, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::string dataset_of(const std::string& file) {
  const std::string folder = folder_of(file);
  if (has_manifest(folder) || is_unfinished(folder)) return folder;
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  if (error || target.filename() != fs::path(file).filename()) return folder;
  const std::string other = target.parent_path().string();
  return has_manifest(other) || is_unfinished(other) ? other : folder;
}

void require_finished(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool directory = fs::is_directory(path, ignored);
    for (const std::string& folder : folders_of(directory ? path : folder_of(path))) {
      if (is_unfinished(folder)) fail_unfinished(folder);
    }
  }
}

void require_whole(const std::vector<std::string>& files) {
  WholeParts parts;
  for (const std::string& file : files) {
    const std::string name = base_name(file), folder = dataset_of(file);
    if (is_unfinished(folder)) fail_unfinished(folder);
    if (!is_shard_name(name)) continue;
    if (has_manifest(folder)) {
      require(parts.names(folder, name.starts_with("train_")).contains(name),
              "{} does not belong to the dataset beside it: dataset.json does not list it; move it "
              "to another folder, or remove it",
              file);
    } else {
      require(!is_in_own_format(file),
              "{} is a shard of a dataset whose dataset.json is missing, so that nobody can tell "
              "whether it is whole; copy dataset.json to {} too, or make the dataset again with "
              "`dashlm tokenize`",
              file, folder);
    }
  }
}

DatasetBuilder::DatasetBuilder(std::string folder, bool force)
    : folder_(std::move(folder)), work_(folder_ + "/" + kUnfinished) {
  std::error_code error;
  made_ = fs::create_directories(folder_, error);
  require(!error, "cannot make directory {}: {}", folder_, error.message());
  lock_ = std::make_unique<DirectoryLock>(folder_);
  require_place(force);
  fs::remove_all(work_, error);
  if (!error) fs::create_directory(work_, error);
  if (error) fail_runtime("cannot make directory {} anew: {}", work_, error.message());
}

void DatasetBuilder::require_place(bool force) const {
  if (force) return;
  require(!has_manifest(folder_),
          "{} already holds a dataset; choose another directory, or replace it with --force",
          folder_);
  if (is_unfinished(folder_)) {
    spdlog::warn("{} holds an unfinished dataset, which is made again from the start", folder_);
    return;
  }
  const std::vector<std::string> shards = shards_in(folder_);
  require(shards.empty(),
          "{} holds {} and {} more token files without a dataset.json: an unfinished dataset, or "
          "files made elsewhere; choose another directory, or replace them with --force",
          folder_, shards.empty() ? "" : shards[0], std::ssize(shards) - 1);
}

DatasetBuilder::~DatasetBuilder() {
  std::error_code ignored;
  fs::remove_all(work_, ignored);
  if (made_) fs::remove(folder_, ignored);  // fails if the folder is not empty
}

void DatasetBuilder::commit() {
  // The description goes first: without it the other files count for nothing, whenever this is
  // interrupted.
  const fs::path folder = folder_, work = work_;
  if (!has_manifest(work_)) fail_runtime("the dataset in {} has no description yet", work_);
  remove_file(folder / kManifest);
  sync_directory(folder_);
  for (const std::string& name : shards_in(folder_)) remove_file(folder / name);
  for (const std::string& name : shards_in(work_)) move_file(work / name, folder / name);
  move_file(work / kTokenizer, folder / kTokenizer);
  sync_directory(folder_);
  move_file(work / kManifest, folder / kManifest);
  sync_directory(folder_);
}

}  // namespace dashlm
