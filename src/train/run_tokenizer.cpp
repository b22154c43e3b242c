#include "train/run_tokenizer.h"

#include <filesystem>

#include "base/log.h"
#include "config/config.h"
#include "data/dataset_folder.h"
#include "data/tokenizer.h"
#include "io/file.h"
#include "train/run_directory.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

constexpr const char* kName = "tokenizer.model";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Whether `dashlm tokenize` was told to leave out bos. Other tools do not record it.
bool is_without_bos(const std::string& shard) {
  const std::string path = folder_of(shard) + "/dataset.json";
  if (!is_file(path)) return false;
  const Json json = Json::parse(read_text_file(path), nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("bos") && json["bos"] == false;
}

// The tokens of a dataset have a meaning only with the tokenizer that made them.
void warn_of_another_tokenizer(const std::string& path, const std::string& shard) {
  const std::string folder = dataset_of(shard);
  if (!has_manifest(folder) || read_manifest(folder).tokenizer_crc == crc32_of_file(path)) return;
  spdlog::warn("the tokenizer '{}' is not the one that made the tokens in '{}'", path, folder);
}

}  // namespace

void keep_tokenizer(const RunConfig& config) {
  const std::string& source = config.data.tokenizer;
  const std::string copy = config.out + "/" + kName;
  if (!is_file(source)) return;
  if (!is_file(copy)) {
    write_text_file(copy, read_text_file(source));
  } else if (crc32_of_file(copy) != crc32_of_file(source)) {
    spdlog::warn("'{}' is another tokenizer than data.tokenizer '{}'; the run keeps its own", copy,
                 source);
  }
}

std::string find_tokenizer(const std::string& checkpoint, const RunConfig& config) {
  std::error_code ignored;
  const fs::path folder = fs::absolute(checkpoint, ignored).lexically_normal() / "";
  for (const char* place : {"", "../.."}) {  // RUN/checkpoints/step_00000010/
    const fs::path path = (folder / place / kName).lexically_normal();
    if (is_file(path)) return path.string();
  }
  return config.data.tokenizer;
}

HfTokenizer tokenizer_of_run(const RunConfig& config, const TokenStream& training_data) {
  const std::string own = config.out + "/" + kName;
  const std::string path = is_file(own) ? own : config.data.tokenizer;
  if (path.empty()) return {};
  if (!is_file(path)) {
    spdlog::warn(
        "data.tokenizer '{}' is no file: checkpoints will have no tokenizer, and `dashlm generate` "
        "will need --tokenizer",
        path);
    return {};
  }
  if (const int64_t size = Tokenizer(path).vocab_size(); size > config.model.vocab_size) {
    spdlog::warn(
        "the tokenizer '{}' has {} tokens, but model.vocab_size = {}: it is not of this model, so "
        "checkpoints will have no tokenizer",
        path, size, config.model.vocab_size);
    return {};
  }
  warn_of_another_tokenizer(path, training_data.shards().front().path);
  const bool adds_bos = !is_without_bos(training_data.shards().front().path);
  return make_hf_tokenizer(path, adds_bos, config.model.seq_len);
}

}  // namespace dashlm
