// Token shards of a fixed size, written one after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_shard.h"

namespace dashlm {

struct WrittenShard {
  std::string file;  // name without folder
  int64_t tokens = 0;
  int64_t bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the whole file
};

class ShardWriter {
 public:
  // Writes `directory`/`prefix`_00000.bin and so on. Each shard but the last has `shard_tokens`
  // tokens. Tokens have 16 bits where `vocab_size` permits. One shard is held in memory, since its
  // header has the number and the CRC of the tokens that follow.
  ShardWriter(std::string directory, std::string prefix, ShardFormat format, int64_t vocab_size,
              int64_t shard_tokens);

  void add(const std::vector<int32_t>& tokens);
  void finish();  // writes the last shard; without it, its tokens are lost

  int64_t tokens() const { return tokens_; }
  int64_t bytes_per_token() const { return layout_.bytes_per_token; }
  const std::vector<WrittenShard>& shards() const { return shards_; }

 private:
  void write_shard();

  std::string directory_, prefix_;
  ShardLayout layout_;
  int64_t shard_tokens_;
  std::string payload_;  // of the shard being filled
  int64_t tokens_ = 0;
  std::vector<WrittenShard> shards_;
};

}  // namespace dashlm
