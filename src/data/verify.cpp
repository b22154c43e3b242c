#include "data/verify.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "data/dataset_folder.h"
#include "data/paths.h"
#include "data/token_stream.h"

namespace dashlm {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;

// The facts about a token file once it has been read.
struct Content {
  ShardLayout layout;
  uint32_t file_crc = 0, token_crc = 0;
  uint32_t largest = 0;  // token
  int64_t largest_at = 0;
};

template <class T>
void look_at(const std::vector<uint8_t>& bytes, int64_t first, Content& content) {
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    if (token <= content.largest) continue;
    content.largest = token;
    content.largest_at = first + i;
  }
}

Content read_content(const std::string& path) {
  const FileReader file(path);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(kShardHeadBytes, file.bytes())));
  file.read_at(0, bytes.data(), std::ssize(bytes));
  Content content;
  content.layout = read_shard_layout(path, bytes.data(), std::ssize(bytes), file.bytes());
  const ShardLayout& layout = content.layout;
  content.file_crc = crc32_of_bytes(bytes.data(), layout.header_bytes);
  for (int64_t offset = layout.header_bytes; offset < file.bytes(); offset += kPieceBytes) {
    bytes.resize(static_cast<size_t>(std::min(kPieceBytes, file.bytes() - offset)));
    file.read_at(offset, bytes.data(), std::ssize(bytes));
    content.file_crc = crc32_of_bytes(bytes.data(), std::ssize(bytes), content.file_crc);
    content.token_crc = crc32_of_bytes(bytes.data(), std::ssize(bytes), content.token_crc);
    const int64_t first = (offset - layout.header_bytes) / layout.bytes_per_token;
    if (layout.bytes_per_token == 2) {
      look_at<uint16_t>(bytes, first, content);
    } else {
      look_at<uint32_t>(bytes, first, content);
    }
  }
  return content;
}

// Throws a bad_input Error when the two differ.
void require_listed(const std::string& path, const Content& content, const WrittenShard& listed) {
  const ShardLayout& layout = content.layout;
  const int64_t bytes = layout.header_bytes + layout.tokens * layout.bytes_per_token;
  require(bytes == listed.bytes, "{} has {} bytes, but dataset.json says {}; copy or make it again",
          path, bytes, listed.bytes);
  require(content.file_crc == listed.crc,
          "{} is damaged: its CRC is {:08x}, but dataset.json says {:08x}; copy or make it again",
          path, content.file_crc, listed.crc);
}

// `listed` may be null.
FileCheck verify(const std::string& path, int64_t vocab_size, const WrittenShard* listed) {
  try {
    const Content content = read_content(path);
    const ShardLayout& layout = content.layout;
    require(!layout.has_crc || content.token_crc == layout.crc,
            "{} is damaged: its tokens have CRC {:08x}, but the header says {:08x}; copy or make "
            "it again",
            path, content.token_crc, layout.crc);
    if (listed) require_listed(path, content, *listed);
    for (const int64_t limit : {layout.vocab_size, vocab_size}) {
      require(limit == 0 || content.largest < limit,
              "{}: token {} at position {} is not below the vocabulary size {}; the file was made "
              "with another tokenizer",
              path, content.largest, content.largest_at, limit);
    }
    return {path, "",
            fmt::format("{} tokens, the largest id is {}", layout.tokens, content.largest)};
  } catch (const Error& error) {
    return {path, error.what(), ""};
  }
}

// The entries of dataset.json, read once for each folder; none where there is no dataset.json.
class Manifests {
 public:
  const WrittenShard* shard(const std::string& path) {
    const std::string folder = dataset_of(path), name = base_name(path);
    const auto [found, is_new] = manifests_.try_emplace(folder);
    if (is_new && is_shard_name(name) && has_manifest(folder)) {
      const DatasetManifest manifest = read_manifest(folder);
      for (const auto* part : {&manifest.train, &manifest.val}) {
        for (const WrittenShard& shard : *part) found->second[shard.file] = shard;
      }
    }
    const auto entry = found->second.find(name);
    return entry == found->second.end() ? nullptr : &entry->second;
  }

 private:
  std::map<std::string, std::map<std::string, WrittenShard>> manifests_;
};

// Runs `check`. Notes its error as the problem of `path`.
template <class Check>
void note_error(const std::string& path, std::vector<FileCheck>& checks, Check&& check) {
  try {
    check();
  } catch (const Error& error) {
    checks.push_back({path, error.what(), ""});
  }
}

}  // namespace

FileCheck verify_token_file(const std::string& path, int64_t vocab_size) {
  return verify(path, vocab_size, nullptr);
}

std::vector<FileCheck> verify_token_files(const std::vector<std::string>& paths,
                                          int64_t vocab_size) {
  std::vector<FileCheck> checks;
  Manifests manifests;
  std::map<std::string, std::vector<std::string>> sound;  // files by dataset
  std::set<std::string> unsound;                          // datasets: there is no more to say
  for (const std::string& file : token_files(paths)) {
    note_error(file, checks,
               [&] { checks.push_back(verify(file, vocab_size, manifests.shard(file))); });
    const std::string folder = dataset_of(file);
    sound[folder].push_back(file);
    if (!checks.back().problem.empty()) unsound.insert(folder);
  }
  for (const auto& dataset : sound) {
    if (unsound.contains(dataset.first)) continue;
    note_error(dataset.first, checks, [&] { require_whole(dataset.second); });
  }
  return checks;
}

std::vector<FileCheck> verify_dataset(const std::string& folder) {
  std::vector<FileCheck> checks;
  note_error(folder, checks, [&] {
    require_finished({folder});
    const DatasetManifest manifest = read_manifest(folder);
    const std::string tokenizer = folder + "/tokenizer.model";
    note_error(tokenizer, checks, [&] {
      const uint32_t crc = crc32_of_file(tokenizer);
      require(
          crc == manifest.tokenizer_crc,
          "{} has CRC {:08x}, but dataset.json says {:08x}: it is damaged, or not the tokenizer "
          "that made the tokens",
          tokenizer, crc, manifest.tokenizer_crc);
      checks.push_back({tokenizer, "", fmt::format("a vocabulary of {}", manifest.vocab_size)});
    });
    std::set<std::string> listed;
    for (const auto* part : {&manifest.train, &manifest.val}) {
      for (const WrittenShard& shard : *part) {
        listed.insert(shard.file);
        checks.push_back(verify(folder + "/" + shard.file, manifest.vocab_size, &shard));
      }
    }
    for (const std::string& name : shards_in(folder)) {
      const std::string path = folder + "/" + name;
      if (listed.contains(name)) continue;
      checks.push_back({path, fmt::format("{} is not in dataset.json; remove it", path), ""});
    }
  });
  return checks;
}

}  // namespace dashlm
