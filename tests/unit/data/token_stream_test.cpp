#include "data/token_stream.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test_files.h"

namespace dashlm {
namespace {

using test::bytes_of;
using test::counting;
using test::expect_error;
using test::shard;
using test::TempDir;

std::vector<int32_t> read(const TokenStream& stream, int64_t begin, int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count), -7);
  stream.read(begin, count, tokens.data());
  return tokens;
}

std::vector<int32_t> read_all(const TokenStream& stream) {
  return read(stream, 0, stream.size());
}

void expect_refused(const TempDir& dir, const std::string& bytes,
                    const std::vector<std::string>& parts) {
  const std::string path = dir.write("file.bin", bytes);
  std::vector<std::string> all = parts;
  all.push_back("file.bin");
  expect_error([&] { TokenStream({path}, 60000); }, all);
}

// As long as it lives, the process may have only so many files open.
class FewerFiles {
 public:
  explicit FewerFiles(rlim_t count) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &usual_), 0);
    const rlimit fewer = {count, usual_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
  }
  ~FewerFiles() { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  FewerFiles(const FewerFiles&) = delete;
  FewerFiles& operator=(const FewerFiles&) = delete;

 private:
  rlimit usual_ = {};
};

TEST(TokenStream, ReadsRawTokens) {
  const TempDir dir;
  const TokenStream stream({dir.write("train.bin", bytes_of<uint16_t>({1, 2, 59999, 0}))}, 60000);
  EXPECT_EQ(stream.size(), 4);
  EXPECT_EQ(stream.shards()[0].layout.format, ShardFormat::raw);
  EXPECT_EQ(read_all(stream), (std::vector<int32_t>{1, 2, 59999, 0}));
}

TEST(TokenStream, ReadsLlmcTokens) {
  const TempDir dir;
  // The header as llm.c writes it, spelled out rather than made by our own code.
  std::vector<int32_t> header(256, 0);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 3;
  const std::string narrow =
      dir.write("a.bin", bytes_of(header) + bytes_of<uint16_t>({50256, 7, 8}));
  header[0] = 20240801;
  header[1] = 7;
  const std::string wide =
      dir.write("b.bin", bytes_of(header) + bytes_of<uint32_t>({128000, 9, 10}));
  const TokenStream stream({narrow, wide}, 128256);
  EXPECT_EQ(stream.shards()[1].layout.format, ShardFormat::llmc);
  EXPECT_EQ(read_all(stream), (std::vector<int32_t>{50256, 7, 8, 128000, 9, 10}));
}

TEST(TokenStream, ReadsItsOwnFormat) {
  const TempDir dir;
  const ShardLayout layout = {.format = ShardFormat::dashlm, .vocab_size = 70000};
  const std::string narrow = dir.write("a.bin", shard<uint16_t>(layout, {65535, 1}));
  const std::string wide = dir.write("b.bin", shard<uint32_t>(layout, {69999, 2, 3}));
  const TokenStream stream({narrow, wide}, 70000);
  EXPECT_EQ(stream.shards()[0].layout.header_bytes, 64);
  EXPECT_EQ(read_all(stream), (std::vector<int32_t>{65535, 1, 69999, 2, 3}));
}

TEST(TokenStream, HeadersMadeAreHeadersRead) {
  for (const ShardFormat format : {ShardFormat::llmc, ShardFormat::dashlm}) {
    for (const int64_t width : {2, 4}) {
      const bool own = format == ShardFormat::dashlm;
      const ShardLayout layout = {.format = format,
                                  .header_bytes = own ? 64 : 1024,
                                  .bytes_per_token = width,
                                  .tokens = 1234567,
                                  .vocab_size = own ? 32000 : 0,
                                  .has_crc = own,
                                  .crc = own ? 0xfedcba98 : 0};
      const std::string header = make_shard_header(layout);
      const ShardLayout back =
          read_shard_layout("x", reinterpret_cast<const uint8_t*>(header.data()),
                            std::ssize(header), std::ssize(header) + layout.tokens * width);
      EXPECT_EQ(back.format, format);
      EXPECT_EQ(back.header_bytes, layout.header_bytes);
      EXPECT_EQ(back.bytes_per_token, width);
      EXPECT_EQ(back.tokens, layout.tokens);
      EXPECT_EQ(back.vocab_size, layout.vocab_size);
      EXPECT_EQ(back.has_crc, layout.has_crc);
      EXPECT_EQ(back.crc, layout.crc);
    }
  }
}

TEST(TokenStream, JoinsShardsInSortedOrder) {
  const TempDir dir;
  dir.write("chunk_02", bytes_of(counting(3, 7)));
  dir.write("chunk_00", bytes_of(counting(5, 0)));
  dir.write("chunk_01", bytes_of(counting(2, 5)));
  dir.write("notes.txt", "not tokens");
  dir.write(".chunk_03", "hidden");
  const TokenStream stream({dir.path()}, 60000);
  ASSERT_EQ(stream.shards().size(), 3u);
  EXPECT_EQ(stream.shards()[1].begin, 5);
  for (int64_t begin = 0; begin <= 10; ++begin) {
    for (int64_t count = 0; begin + count <= 10; ++count) {
      EXPECT_EQ(read(stream, begin, count), counting<int32_t>(count, begin));
    }
  }
}

TEST(TokenStream, PatternsAndSeveralPathsKeepTheirOrder) {
  const TempDir dir;
  dir.write("b_1.bin", bytes_of(counting(2, 0)));
  dir.write("b_2.bin", bytes_of(counting(2, 2)));
  dir.write("a_1.bin", bytes_of(counting(2, 4)));
  const TokenStream stream({dir / "b_*.bin", dir / "a_1.bin"}, 60000);
  EXPECT_EQ(read_all(stream), counting<int32_t>(6));
}

TEST(TokenStream, ReadsBeyondTwoGibibytes) {
  // A hole of 2^31 tokens, 4 GiB: neither bytes nor tokens fit 32 bits with a sign.
  const TempDir dir;
  const std::string path = dir / "chunk_0";
  const int64_t hole = int64_t{1} << 31;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0644);
  const std::string tail = bytes_of<uint16_t>({11, 12, 13});
  ASSERT_EQ(::pwrite(file, tail.data(), tail.size(), 2 * hole), std::ssize(tail));
  ::close(file);
  const TokenStream stream({path, dir.write("chunk_1", bytes_of<uint16_t>({14, 15}))}, 32000);
  EXPECT_EQ(stream.size(), hole + 5);
  EXPECT_EQ(read(stream, hole - 1, 6), (std::vector<int32_t>{0, 11, 12, 13, 14, 15}));
}

TEST(TokenStream, ReadsMoreShardsThanItKeepsOpen) {
  const TempDir dir;
  constexpr int64_t kShards = 1500;
  for (int64_t i = 0; i < kShards; ++i) {
    dir.write(fmt::format("chunk_{:04d}", i), bytes_of(counting(2, 2 * i)));
  }
  const FewerFiles limit(1024);
  const TokenStream stream({dir.path()}, 60000);
  EXPECT_EQ(read_all(stream), counting<int32_t>(2 * kShards));
}

TEST(TokenStream, NamesMissingFiles) {
  const TempDir dir;
  expect_error([&] { TokenStream({dir / "absent.bin"}, 10); }, {"absent.bin", "does not exist"});
  expect_error([&] { TokenStream({dir / "chunk_*"}, 10); }, {"chunk_*", "matches no"});
  expect_error([&] { TokenStream({dir.path()}, 10); }, {dir.path(), "holds no"});
  expect_error([&] { TokenStream({}, 10); }, {"no token files"});
}

TEST(TokenStream, NamesUnreadableFiles) {
  const TempDir dir;
  const std::string path = dir / "dangling.bin";
  std::filesystem::create_symlink(dir / "nowhere", path);
  expect_error([&] { TokenStream({dir / "*.bin"}, 10); }, {"dangling.bin"});
  if (::geteuid() == 0) return;  // root may read everything
  std::filesystem::permissions(dir.write("locked.bin", "12"), std::filesystem::perms::none);
  expect_error([&] { TokenStream({dir / "locked.bin"}, 10); }, {"locked.bin"});
}

TEST(TokenStream, RefusesFilesOfTheWrongSize) {
  const TempDir dir;
  const ShardLayout own = {.format = ShardFormat::dashlm, .vocab_size = 100};
  const ShardLayout llmc = {.format = ShardFormat::llmc};
  expect_refused(dir, "", {"is empty"});
  expect_refused(dir, "123", {"3 bytes", "odd"});
  for (const ShardLayout& layout : {own, llmc}) {
    const std::string whole = shard<uint16_t>(layout, {1, 2, 3});
    expect_refused(dir, whole.substr(0, whole.size() - 2), {"cut short", "3 tokens"});
    expect_refused(dir, whole + "zz", {"longer", "3 tokens"});
    expect_refused(dir, whole.substr(0, 40), {"header"});
    expect_refused(dir, shard<uint16_t>(layout, {}), {"no tokens"});
  }
}

TEST(TokenStream, RefusesWhatIsNoTokenFile) {
  const TempDir dir;
  expect_refused(dir, test::gzip("hello"), {"gzip"});
  expect_refused(dir, "\x93NUMPY\x01\x02", {"NumPy"});
  std::string header = shard<uint16_t>({.format = ShardFormat::dashlm, .vocab_size = 9}, {1});
  header[8] = 2;
  expect_refused(dir, header, {"version 2"});
  header[8] = 1;
  header[12] = 3;
  expect_refused(dir, header, {"3 bytes a token"});
}

TEST(TokenStream, RefusesTheSameFileTwice) {
  const TempDir dir;
  dir.write("a.bin", bytes_of(counting(2)));
  expect_error([&] { TokenStream({dir / "a.bin", dir / "*.bin"}, 10); }, {"a.bin", "twice"});
}

TEST(TokenStream, RefusesADirectoryOfTrainingAndValidation) {
  const TempDir dir;
  dir.write("train.bin", bytes_of(counting(2)));
  dir.write("val.bin", bytes_of(counting(2)));
  expect_error([&] { TokenStream({dir.path()}, 10); }, {dir.path(), "val*"});
  EXPECT_EQ(TokenStream({dir / "train*"}, 10).size(), 2);
}

TEST(TokenStream, RefusesAVocabularyLargerThanTheModels) {
  const TempDir dir;
  const auto path =
      dir.write("a.bin", shard<uint16_t>({.format = ShardFormat::dashlm, .vocab_size = 101}, {1}));
  EXPECT_EQ(TokenStream({path}, 101).size(), 1);
  expect_error([&] { TokenStream({path}, 100); }, {"a.bin", "101", "100"});
}

TEST(TokenStream, NamesShardAndPositionOfABadToken) {
  const TempDir dir;
  dir.write("chunk_0", bytes_of(counting(50000, 0, 100)));
  std::vector<uint16_t> second = counting(50000, 0, 100);
  second[40001] = 100;
  dir.write("chunk_1", bytes_of(second));
  const TokenStream stream({dir.path()}, 100);
  EXPECT_EQ(read(stream, 0, 90001).back(), 0);
  expect_error([&] { read(stream, 45000, 50000); }, {"chunk_1", "token 100", "position 40001"});
}

TEST(TokenStream, RefusesWideTokensAboveTwoToThe31) {
  const TempDir dir;
  const auto path =
      dir.write("a.bin", shard<uint32_t>({.format = ShardFormat::llmc}, {1, 4000000000u}));
  const TokenStream stream({path}, 60000);
  expect_error([&] { read_all(stream); }, {"a.bin", "4000000000", "position 1"});
}

TEST(TokenStream, ReportsAFileThatShrank) {
  const TempDir dir;
  const auto path = dir.write("a.bin", bytes_of(counting(1000)));
  const TokenStream stream({path}, 60000);
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(read(stream, 0, 50).size(), 50u);
  expect_error([&] { read(stream, 40, 20); }, {"a.bin", "100"});
}

TEST(TokenStream, RefusesToReadOutside) {
  const TempDir dir;
  const TokenStream stream({dir.write("a.bin", bytes_of(counting(10)))}, 60000);
  const auto read_at = [&](int64_t begin, int64_t count) {
    int32_t out[16];
    stream.read(begin, count, out);
  };
  read_at(10, 0);
  for (const auto& range : {std::pair<int64_t, int64_t>{8, 3}, {-1, 2}, {11, 0}, {0, -1}}) {
    expect_error([&] { read_at(range.first, range.second); }, {"outside"},
                 ExitCode::runtime_failure);
  }
}

TEST(TokenStream, FingerprintTellsDataApart) {
  const TempDir one, other;
  const auto fingerprint = [](const TempDir& dir) {
    return TokenStream({dir.path()}, 60000).fingerprint();
  };
  for (const TempDir* dir : {&one, &other}) {
    dir->write("chunk_0", bytes_of(counting(100000)));
    dir->write("chunk_1", bytes_of(counting(10)));
  }
  const uint32_t original = fingerprint(one);
  EXPECT_EQ(fingerprint(other), original) << "the folder must not matter";
  for (const int64_t changed : {0, 43000, 99999}) {
    std::vector<uint16_t> tokens = counting(100000);
    tokens[static_cast<size_t>(changed)] ^= 1;
    other.write("chunk_0", bytes_of(tokens));
    EXPECT_NE(fingerprint(other), original) << changed;
  }
  other.write("chunk_0", bytes_of(counting(100001)));
  EXPECT_NE(fingerprint(other), original);
  other.write("chunk_0", bytes_of(std::vector<uint16_t>(100000)));
  const uint32_t zeros = fingerprint(other);
  other.write("chunk_0", bytes_of(std::vector<uint16_t>(100001)));
  EXPECT_NE(fingerprint(other), zeros) << "only the size differs";
  other.write("chunk_0", bytes_of(counting(100000)));
  EXPECT_EQ(fingerprint(other), original);
  std::filesystem::rename(other / "chunk_1", other / "chunk_2");
  EXPECT_NE(fingerprint(other), original);
}

TEST(TokenStream, VerifyChecksTheStoredCrc) {
  const TempDir dir;
  const std::vector<uint16_t> tokens = counting(70000, 0, 900);
  const std::string payload = bytes_of(tokens);
  ShardLayout layout = {.format = ShardFormat::dashlm, .vocab_size = 1000, .has_crc = true};
  layout.crc = static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(payload.data()),
                                             static_cast<uInt>(payload.size())));
  std::string bytes = shard(layout, tokens);
  const TokenStream sound({dir.write("a.bin", bytes)}, 1000);
  EXPECT_NO_THROW(sound.verify());
  bytes[100000] = static_cast<char>(bytes[100000] ^ 1);
  const TokenStream damaged({dir.write("b.bin", bytes)}, 1000);
  expect_error([&] { damaged.verify(); }, {"b.bin", "CRC"});
}

}  // namespace
}  // namespace dashlm
