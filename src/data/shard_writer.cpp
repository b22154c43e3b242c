#include "data/shard_writer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "io/file.h"

namespace dashlm {
namespace {

// Numbers of shards have five digits, so that sorted names are in order.
constexpr size_t kMostShards = 100000;

template <class T>
void append(const int32_t* tokens, int64_t count, std::string& payload) {
  const size_t old = payload.size();
  payload.resize(old + static_cast<size_t>(count) * sizeof(T));
  char* out = payload.data() + old;
  for (int64_t i = 0; i < count; ++i) {
    const auto token = static_cast<T>(tokens[i]);
    std::copy_n(reinterpret_cast<const char*>(&token), sizeof(T), out);
    out += sizeof(T);
  }
}

}  // namespace

ShardWriter::ShardWriter(std::string directory, std::string prefix, ShardFormat format,
                         int64_t vocab_size, int64_t shard_tokens)
    : directory_(std::move(directory)), prefix_(std::move(prefix)), shard_tokens_(shard_tokens) {
  const bool narrow = vocab_size <= int64_t{std::numeric_limits<uint16_t>::max()} + 1;
  layout_.format = format;
  layout_.bytes_per_token = narrow ? 2 : 4;
  layout_.vocab_size = vocab_size;
  layout_.has_crc = true;
  layout_.tokens = shard_tokens;
  require(shard_tokens > 0 && shard_tokens <= int64_t{1} << 31,
          "shards of {} tokens are not possible; 1 to 2^31 are", shard_tokens);
  make_shard_header(layout_);  // throws when the format cannot hold this
}

void ShardWriter::add(const std::vector<int32_t>& tokens) {
  const int64_t shard_bytes = shard_tokens_ * layout_.bytes_per_token;
  const auto total = static_cast<int64_t>(tokens.size());
  for (int64_t done = 0; done < total;) {
    const int64_t room = shard_bytes - static_cast<int64_t>(payload_.size());
    const int64_t count = std::min(total - done, room / layout_.bytes_per_token);
    if (layout_.bytes_per_token == 2) {
      append<uint16_t>(tokens.data() + done, count, payload_);
    } else {
      append<uint32_t>(tokens.data() + done, count, payload_);
    }
    done += count;
    if (static_cast<int64_t>(payload_.size()) == shard_bytes) write_shard();
  }
  tokens_ += total;
}

void ShardWriter::finish() {
  if (!payload_.empty()) write_shard();
}

void ShardWriter::write_shard() {
  require(shards_.size() < kMostShards,
          "shards of {} tokens are too small: {}_99999.bin is full; make them larger with "
          "--shard-tokens",
          shard_tokens_, prefix_);
  const std::string name = fmt::format("{}_{:05d}.bin", prefix_, shards_.size());
  layout_.tokens = static_cast<int64_t>(payload_.size()) / layout_.bytes_per_token;
  layout_.crc = crc32_of_bytes(payload_.data(), static_cast<int64_t>(payload_.size()));
  FileWriter file(directory_ + "/" + name);
  const std::string header = make_shard_header(layout_);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  file.write(payload_.data(), static_cast<int64_t>(payload_.size()));
  file.commit();
  shards_.push_back({name, layout_.tokens, file.bytes(), file.crc32()});
  payload_.clear();
}

}  // namespace dashlm
