#include "data/token_stream.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "data/dataset_folder.h"
#include "data/paths.h"
#include "data/verify.h"

namespace dashlm {
namespace {

// Descriptors that a stream keeps open; the usual limit of a process is 1024.
constexpr size_t kOpenFiles = 256;
// Number of tokens converted at a time.
constexpr int64_t kChunkTokens = int64_t{1} << 15;

bool is_token_file(const std::string& name) {
  if (name.ends_with(".bin")) return true;
  return name.starts_with("chunk_") && name.find('.') == std::string::npos;
}

// A validation file that slipped into the training data would go unnoticed.
void refuse_mixed_directory(const std::string& directory, const std::vector<std::string>& files) {
  const auto is_val = [](const std::string& file) { return base_name(file).starts_with("val"); };
  const auto val = std::count_if(files.begin(), files.end(), is_val);
  require(val == 0 || val == static_cast<int64_t>(files.size()),
          "directory {} holds validation files (val*) and others; name the ones you mean with a "
          "pattern, such as {}",
          directory, directory + (directory.ends_with('/') ? "train*" : "/train*"));
}

template <class T>
void widen(const uint8_t* bytes, int64_t count, int32_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = static_cast<int32_t>(token);
  }
}

}  // namespace

std::vector<std::string> token_files(const std::vector<std::string>& paths) {
  require_finished(paths);
  return expand_paths(paths, is_token_file, "token files (*.bin, chunk_*)");
}

TokenStream::TokenStream(const std::vector<std::string>& paths, int64_t vocab_size)
    : vocab_size_(vocab_size) {
  require(!paths.empty(), "no token files are named");
  require(vocab_size > 0, "a vocabulary of {} tokens is not possible", vocab_size);
  const std::vector<std::string> files = token_files(paths);
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      refuse_mixed_directory(path, token_files({path}));
    }
  }
  for (const std::string& file : files) add_shard(file);
  require_whole(files);
}

void TokenStream::add_shard(const std::string& path) {
  auto file = std::make_unique<FileReader>(path);
  uint8_t head[kShardHeadBytes];
  const int64_t head_bytes = std::min(kShardHeadBytes, file->bytes());
  file->read_at(0, head, head_bytes);
  Shard shard{path, size_, read_shard_layout(path, head, head_bytes, file->bytes()), file->bytes()};
  require(
      shard.layout.vocab_size <= vocab_size_,
      "{} was made for a vocabulary of {}, but the model's has {}; set model.vocab_size to that "
      "of the data",
      path, shard.layout.vocab_size, vocab_size_);
  size_ += shard.layout.tokens;
  shards_.push_back(std::move(shard));
  if (files_.size() < kOpenFiles) files_.push_back(std::move(file));
}

void TokenStream::read(int64_t begin, int64_t count, int32_t* out) const {
  if (begin < 0 || count < 0 || begin > size_ - count) {
    fail_runtime("tokens [{}, {}) lie outside the stream of {} tokens", begin, begin + count,
                 size_);
  }
  const auto after = [](int64_t position, const Shard& shard) { return position < shard.begin; };
  auto shard = std::upper_bound(shards_.begin(), shards_.end(), begin, after) - 1;
  while (count > 0) {
    const int64_t part = std::min({count, shard->end() - begin, kChunkTokens});
    read_shard(static_cast<size_t>(shard - shards_.begin()), begin - shard->begin, part, out);
    begin += part;
    count -= part;
    out += part;
    if (begin == shard->end()) ++shard;
  }
}

void TokenStream::read_shard(size_t index, int64_t begin, int64_t count, int32_t* out) const {
  const Shard& shard = shards_[index];
  const ShardLayout& layout = shard.layout;
  std::vector<uint8_t> bytes(static_cast<size_t>(count * layout.bytes_per_token));
  read_bytes(index, layout.header_bytes + begin * layout.bytes_per_token,
             static_cast<int64_t>(bytes.size()), bytes.data());
  if (layout.bytes_per_token == 2) {
    widen<uint16_t>(bytes.data(), count, out);
  } else {
    widen<uint32_t>(bytes.data(), count, out);
  }
  // The comparison is unsigned, since a 32-bit token above 2^31 has become negative.
  const auto outside = [this](int32_t t) { return static_cast<uint32_t>(t) >= vocab_size_; };
  const int32_t* bad = std::find_if(out, out + count, outside);
  if (bad == out + count) return;
  fail_input(
      "{}: token {} at position {} is not below the vocabulary size {}; the file was made with "
      "another tokenizer, or model.vocab_size is wrong",
      shard.path, static_cast<uint32_t>(*bad), begin + (bad - out), vocab_size_);
}

void TokenStream::read_bytes(size_t index, int64_t offset, int64_t bytes, void* out) const {
  if (index < files_.size()) {
    files_[index]->read_at(offset, out, bytes);
  } else {
    FileReader(shards_[index].path).read_at(offset, out, bytes);
  }
}

uint32_t TokenStream::fingerprint() const {
  constexpr int64_t kSamples = 8, kSampleBytes = 4096;
  uint32_t crc = 0;
  std::vector<uint8_t> sample(kSampleBytes);
  for (size_t index = 0; index < shards_.size(); ++index) {
    const Shard& shard = shards_[index];
    const std::string name = base_name(shard.path);
    crc = crc32_of_bytes(name.c_str(), static_cast<int64_t>(name.size()) + 1, crc);
    crc = crc32_of_bytes(&shard.file_bytes, sizeof shard.file_bytes, crc);
    const int64_t bytes = std::min(kSampleBytes, shard.file_bytes);
    for (int64_t i = 0; i < kSamples; ++i) {
      // Samples are spread from the first bytes to the last.
      const int64_t offset = (shard.file_bytes - bytes) * i / (kSamples - 1);
      read_bytes(index, offset, bytes, sample.data());
      crc = crc32_of_bytes(sample.data(), bytes, crc);
    }
  }
  return crc;
}

void TokenStream::check(int64_t begin, int64_t count) const {
  std::vector<int32_t> tokens(static_cast<size_t>(kChunkTokens));
  for (int64_t done = 0; done < count; done += kChunkTokens) {
    read(begin + done, std::min(kChunkTokens, count - done), tokens.data());
  }
}

void TokenStream::check_sample(int64_t tokens) const {
  const int64_t each = std::max<int64_t>(1, tokens / std::ssize(shards_));
  for (const Shard& shard : shards_) check(shard.begin, std::min(each, shard.layout.tokens));
}

void TokenStream::verify() const {
  for (const Shard& shard : shards_) {
    const FileCheck found = verify_token_file(shard.path, vocab_size_);
    require(found.problem.empty(), "{}", found.problem);
  }
}

}  // namespace dashlm
