#include "data/token_shard.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace dashlm {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

// 0xffff comes first because no published vocabulary has a token 65535, so that no raw file starts
// this way.
constexpr std::string_view kMagic =
    "\xff\xff"
    "DLTOK\n";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHasCrc = 1;

struct DashlmHeader {
  char magic[8];
  uint32_t version;
  uint32_t bytes_per_token;
  uint64_t vocab_size;
  uint64_t tokens;
  uint32_t flags;  // bit 0: crc is valid
  uint32_t crc;    // CRC-32 of everything after the header
  uint8_t reserved[24];
};
static_assert(sizeof(DashlmHeader) == 64);

constexpr int64_t kLlmcHeaderBytes = 1024;
constexpr uint32_t kLlmcMagic16 = 20240520, kLlmcVersion16 = 1;
constexpr uint32_t kLlmcMagic32 = 20240801, kLlmcVersion32 = 7;

ShardLayout read_dashlm(const std::string& path, const uint8_t* head, int64_t head_bytes) {
  DashlmHeader header;
  const auto header_bytes = static_cast<int64_t>(sizeof header);
  require(head_bytes >= header_bytes, "{} ends within its header of {} bytes; make it again", path,
          header_bytes);
  std::memcpy(&header, head, sizeof header);
  require(header.version == kVersion, "{} has format version {}; this program reads version {}",
          path, header.version, kVersion);
  require(header.bytes_per_token == 2 || header.bytes_per_token == 4,
          "{} has {} bytes a token in its header, but must have 2 or 4", path,
          header.bytes_per_token);
  require(header.tokens <= uint64_t{1} << 56 && header.vocab_size <= uint64_t{1} << 32,
          "{} has a damaged header: {} tokens of a vocabulary of {}", path, header.tokens,
          header.vocab_size);
  return {.format = ShardFormat::dashlm,
          .header_bytes = header_bytes,
          .bytes_per_token = header.bytes_per_token,
          .tokens = static_cast<int64_t>(header.tokens),
          .vocab_size = static_cast<int64_t>(header.vocab_size),
          .has_crc = (header.flags & kHasCrc) != 0,
          .crc = header.crc};
}

ShardLayout read_llmc(const std::string& path, const uint32_t* header, int64_t head_bytes) {
  const bool wide = header[0] == kLlmcMagic32;
  require(head_bytes >= kLlmcHeaderBytes, "{} ends within its llm.c header of {} bytes", path,
          kLlmcHeaderBytes);
  return {.format = ShardFormat::llmc,
          .header_bytes = kLlmcHeaderBytes,
          .bytes_per_token = wide ? 4 : 2,
          .tokens = header[2]};
}

bool starts_with(const uint8_t* head, int64_t head_bytes, std::string_view magic) {
  return head_bytes >= static_cast<int64_t>(magic.size()) &&
         std::memcmp(head, magic.data(), magic.size()) == 0;
}

}  // namespace

const char* format_name(ShardFormat format) {
  switch (format) {
    case ShardFormat::raw:
      return "raw";
    case ShardFormat::llmc:
      return "llmc";
    case ShardFormat::dashlm:
      return "dashlm";
  }
  return "?";
}

std::string make_shard_header(const ShardLayout& layout) {
  const bool wide = layout.bytes_per_token == 4;
  switch (layout.format) {
    case ShardFormat::raw:
      require(!wide, "raw token files hold 16-bit tokens, too few for a vocabulary of {}",
              layout.vocab_size);
      return "";
    case ShardFormat::llmc: {
      require(layout.tokens <= std::numeric_limits<int32_t>::max(),
              "llm.c token files hold at most 2^31 - 1 tokens, not {}", layout.tokens);
      std::string header(static_cast<size_t>(kLlmcHeaderBytes), '\0');
      const uint32_t fields[3] = {wide ? kLlmcMagic32 : kLlmcMagic16,
                                  wide ? kLlmcVersion32 : kLlmcVersion16,
                                  static_cast<uint32_t>(layout.tokens)};
      std::memcpy(header.data(), fields, sizeof fields);
      return header;
    }
    case ShardFormat::dashlm: {
      DashlmHeader header = {};
      std::memcpy(header.magic, kMagic.data(), sizeof header.magic);
      header.version = kVersion;
      header.bytes_per_token = static_cast<uint32_t>(layout.bytes_per_token);
      header.vocab_size = static_cast<uint64_t>(layout.vocab_size);
      header.tokens = static_cast<uint64_t>(layout.tokens);
      header.flags = layout.has_crc ? kHasCrc : 0;
      header.crc = layout.crc;
      return {reinterpret_cast<const char*>(&header), sizeof header};
    }
  }
  return "";
}

ShardLayout read_shard_layout(const std::string& path, const uint8_t* head, int64_t head_bytes,
                              int64_t file_bytes) {
  require(file_bytes > 0, "{} is empty; a token file holds at least one token", path);
  require(!starts_with(head, head_bytes, "\x1f\x8b\x08"),
          "{} is a gzip file, not a token file; `dashlm tokenize` makes token files of text", path);
  require(!starts_with(head, head_bytes, "\x93NUMPY"),
          "{} is a NumPy file, not a token file; save the array with its tofile() as uint16", path);

  ShardLayout layout = {.tokens = file_bytes / 2};
  uint32_t words[3] = {};
  if (head_bytes >= static_cast<int64_t>(sizeof words)) std::memcpy(words, head, sizeof words);
  if (starts_with(head, head_bytes, kMagic)) {
    layout = read_dashlm(path, head, head_bytes);
  } else if ((words[0] == kLlmcMagic16 && words[1] == kLlmcVersion16) ||
             (words[0] == kLlmcMagic32 && words[1] == kLlmcVersion32)) {
    layout = read_llmc(path, words, head_bytes);
  } else {
    require(file_bytes % 2 == 0,
            "{} has {} bytes, an odd number, so that it cannot be raw 16-bit tokens; it is cut "
            "short or no token file",
            path, file_bytes);
  }
  const int64_t expected = layout.header_bytes + layout.tokens * layout.bytes_per_token;
  require(file_bytes == expected,
          "{} has {} bytes, but its header of {} tokens of {} bytes makes {}; it is {}, copy or "
          "make it again",
          path, file_bytes, layout.tokens, layout.bytes_per_token, expected,
          file_bytes < expected ? "cut short" : "longer than it should be");
  require(layout.tokens > 0, "{} holds no tokens", path);
  return layout;
}

}  // namespace dashlm
