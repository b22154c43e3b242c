// One file of tokens, in any of the formats that dashlm reads.
//
// raw     little-endian uint16 and nothing else, as tokenised C4 is published
// llmc    256 int32 of header, then uint16 (magic 20240520) or uint32 (magic 20240801)
// dashlm  64 bytes of header, then uint16 or uint32; the only format that knows its vocabulary
//
// docs/data.md has the header tables and says how to add a format.
#pragma once

#include <cstdint>
#include <string>

namespace dashlm {

enum class ShardFormat { raw, llmc, dashlm };
const char* format_name(ShardFormat format);

// Where the tokens lie within a file.
struct ShardLayout {
  ShardFormat format = ShardFormat::raw;
  int64_t header_bytes = 0;
  int64_t bytes_per_token = 2;  // 2 or 4, little-endian
  int64_t tokens = 0;
  int64_t vocab_size = 0;  // 0: the format does not say
  bool has_crc = false;
  uint32_t crc = 0;  // CRC-32 of the tokens' bytes, when has_crc
};

// The header of a shard in dashlm's own format or in llm.c's; none for raw. Throws when the format
// cannot hold such tokens.
std::string make_shard_header(const ShardLayout& layout);

// Recognises the format from the first `head_bytes` bytes of a file of `file_bytes` bytes. Throws a
// bad_input Error that names the file when header and size disagree, when the file is empty, or
// when it is plainly another kind of file (gzip, NumPy).
ShardLayout read_shard_layout(const std::string& path, const uint8_t* head, int64_t head_bytes,
                              int64_t file_bytes);

// The number of bytes of a file that read_shard_layout() needs.
inline constexpr int64_t kShardHeadBytes = 1024;

}  // namespace dashlm
