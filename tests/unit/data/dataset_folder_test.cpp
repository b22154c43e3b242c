#include "data/dataset_folder.h"

#include <nlohmann/json.hpp>

#include "data/token_stream.h"
#include "data/verify.h"
#include "test_files.h"

namespace dashlm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::bytes_of;
using test::counting;
using test::expect_error;
using test::shard;
using test::slurp;
using test::TempDir;

constexpr int64_t kVocab = 1000;

uint32_t crc_of(const std::string& bytes) {
  return crc32_of_bytes(bytes.data(), std::ssize(bytes));
}

// A shard in our own format, with its checksum.
std::string own_shard(const std::vector<uint16_t>& tokens) {
  return shard<uint16_t>({.format = ShardFormat::dashlm,
                          .vocab_size = kVocab,
                          .has_crc = true,
                          .crc = crc_of(bytes_of(tokens))},
                         tokens);
}

json listed(const std::string& name, const std::string& bytes, int64_t tokens) {
  return {{"file", name},
          {"tokens", tokens},
          {"bytes", std::ssize(bytes)},
          {"crc32", fmt::format("{:08x}", crc_of(bytes))}};
}

// `dir`/`name`: a dataset of three training shards and one for validation.
std::string write_dataset(const TempDir& dir, const std::string& name, bool raw = false) {
  fs::create_directory(dir / name);
  json parts = {{"train", json::array()}, {"val", json::array()}};
  for (const std::string part : {"train", "val"}) {
    for (int64_t i = 0; i < (part == "train" ? 3 : 1); ++i) {
      const std::vector<uint16_t> tokens = counting(100 + i, 7 * i, kVocab);
      const std::string bytes = raw ? bytes_of(tokens) : own_shard(tokens);
      const std::string file = fmt::format("{}_{:05d}.bin", part, i);
      dir.write(name + "/" + file, bytes);
      parts[part].push_back(listed(file, bytes, std::ssize(tokens)));
    }
  }
  dir.write(name + "/tokenizer.model", "a tokenizer");
  dir.write(name + "/dataset.json",
            json{{"vocab_size", kVocab},
                 {"tokenizer_crc32", fmt::format("{:08x}", crc_of("a tokenizer"))},
                 {"train", {{"shards", parts["train"]}}},
                 {"val", {{"shards", parts["val"]}}}}
                .dump());
  return dir / name;
}

void expect_refused(const std::vector<std::string>& paths, const std::vector<std::string>& parts) {
  SCOPED_TRACE(testing::PrintToString(paths));
  expect_error([&] { TokenStream(paths, kVocab); }, parts);
}

// The problems found, and how many files are sound.
std::vector<std::string> problems(const std::vector<FileCheck>& checks, size_t sound) {
  std::vector<std::string> found;
  for (const FileCheck& check : checks) {
    if (!check.problem.empty()) found.push_back(check.problem);
  }
  EXPECT_EQ(checks.size() - found.size(), sound) << testing::PrintToString(found);
  return found;
}

void expect_problems(const std::vector<std::string>& found,
                     const std::vector<std::vector<std::string>>& expected) {
  ASSERT_EQ(found.size(), expected.size()) << testing::PrintToString(found);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const std::string& part : expected[i]) EXPECT_THAT(found[i], testing::HasSubstr(part));
  }
}

TEST(DatasetFolder, AWholeDatasetIsReadHoweverItIsNamed) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  EXPECT_EQ(TokenStream({data + "/train_*.bin"}, kVocab).size(), 303);
  EXPECT_EQ(TokenStream({data + "/train_00001.bin"}, kVocab).size(), 101);
  EXPECT_EQ(TokenStream({data + "/val_*.bin"}, kVocab).size(), 100);
  fs::create_directory(dir / "links");
  fs::create_symlink(data + "/train_00002.bin", dir / "links/train_00002.bin");
  EXPECT_EQ(TokenStream({dir / "links"}, kVocab).size(), 102);
}

TEST(DatasetFolder, AnUnfinishedDatasetIsRefusedHoweverItIsNamed) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  fs::create_directory(data + "/.unfinished");
  EXPECT_EQ(TokenStream({data + "/train_*.bin"}, kVocab).size(), 303) << "a new one is being made";
  fs::remove(data + "/dataset.json");
  fs::remove(data + "/val_00000.bin");
  const std::vector<std::string> words = {data, "not finished", "run the same command again"};
  expect_refused({data}, words);
  expect_refused({data + "/"}, words);
  expect_refused({data + "/train_*.bin"}, words);
  expect_refused({data + "/train_00001.bin"}, words);
  for (const int i : {0, 1, 2}) fs::remove(fmt::format("{}/train_0000{}.bin", data, i));
  write_dataset(dir, "data2");
  expect_refused({data}, words);
  expect_refused({data + "/train_*.bin"}, words);
  expect_refused({data + "/train_00001.bin"}, words);
  expect_refused({dir / "data*/train_*.bin"}, words);  // not the other one alone
}

TEST(DatasetFolder, AShardWithoutDescriptionIsRefused) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  fs::remove(data + "/dataset.json");
  for (const std::string name : {"/train_*.bin", "/train_00001.bin", "/val_00000.bin"}) {
    expect_refused({data + name}, {data, "dataset.json is missing", "dashlm tokenize"});
  }
}

TEST(DatasetFolder, FilesMadeElsewhereNeedNoDescription) {
  const TempDir dir;
  dir.write("train_00000.bin", bytes_of(counting(50, 0, kVocab)));
  dir.write("train_00001.bin",
            shard<uint16_t>({.format = ShardFormat::llmc}, counting(60, 0, kVocab)));
  EXPECT_EQ(TokenStream({dir.path()}, kVocab).size(), 110);
  // Nor do they belong to a dataset that happens to lie beside them.
  const std::string data = write_dataset(dir, "data");
  dir.write("data/other.bin", bytes_of(counting(20, 0, kVocab)));
  EXPECT_EQ(TokenStream({data + "/other.bin"}, kVocab).size(), 20);
}

TEST(DatasetFolder, EveryShardOfAPartMustBeThere) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  fs::remove(data + "/val_00000.bin");
  EXPECT_EQ(TokenStream({data}, kVocab).size(), 303) << "of the training part all is there";
  fs::remove(data + "/train_00002.bin");
  for (const std::string name : {"", "/train_*.bin", "/train_00000.bin"}) {
    expect_refused({data + name}, {data, "3 training shards", "train_00002.bin is missing"});
  }
}

TEST(DatasetFolder, AShardThatIsCutShortIsRefusedInFormatsWithoutHeader) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data", /*raw=*/true);
  EXPECT_EQ(TokenStream({data + "/train*"}, kVocab).size(), 303);
  fs::resize_file(data + "/train_00001.bin", 100);
  expect_refused({data + "/train*"}, {"train_00001.bin has 100 bytes", "dataset.json says 202"});
}

TEST(DatasetFolder, AShardOfAnotherDatasetIsRefused) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  dir.write("data/train_00003.bin", own_shard(counting(30, 0, kVocab)));
  expect_refused({data + "/train_*"}, {"train_00003.bin", "does not list it"});
  dir.write("data/dataset.json", "{\"train\": {\"shards\": [");
  expect_refused({data + "/train_*"}, {data + "/dataset.json", "damaged"});
}

TEST(DatasetBuilder, KeepsOtherProcessesOut) {
  const TempDir dir;
  const DatasetBuilder first(dir / "data", false);
  for (const bool force : {false, true}) {
    expect_error([&] { DatasetBuilder(dir / "data", force); }, {dir / "data", "another process"});
  }
  EXPECT_TRUE(fs::exists(first.work_folder())) << "it is the first one's";
}

TEST(DatasetBuilder, WithoutCommitLeavesWhatWasThere) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  const std::string before = slurp(data + "/train_00000.bin");
  {
    const DatasetBuilder builder(data, true);
    std::ofstream(builder.work_folder() + "/train_00000.bin") << "half";
    EXPECT_EQ(TokenStream({data + "/train*"}, kVocab).size(), 303);
  }
  EXPECT_EQ(slurp(data + "/train_00000.bin"), before);
  EXPECT_FALSE(fs::exists(data + "/.unfinished"));
  { const DatasetBuilder builder(dir / "new/data", false); }
  EXPECT_FALSE(fs::exists(dir / "new/data"));
}

TEST(DatasetBuilder, TakesWhatAnInterruptedProcessLeftForNothing) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  expect_error([&] { DatasetBuilder(data, false); }, {data, "already holds a dataset", "--force"});
  fs::remove(data + "/dataset.json");
  expect_error([&] { DatasetBuilder(data, false); },
               {data, "train_00000.bin and 3 more", "unfinished", "--force"});
  fs::create_directory(data + "/.unfinished");
  dir.write("data/.unfinished/train_00007.bin", "half");
  DatasetBuilder builder(data, false);
  EXPECT_FALSE(fs::exists(data + "/.unfinished/train_00007.bin"));
  const std::string next = write_dataset(dir, "next");
  fs::remove(next + "/train_00002.bin");
  fs::copy(next, builder.work_folder(), fs::copy_options::recursive);
  builder.commit();
  EXPECT_TRUE(fs::exists(data + "/dataset.json"));
  EXPECT_FALSE(fs::exists(data + "/train_00002.bin")) << "of the interrupted one";
}

TEST(Verify, FindsNothingWrongWithAWholeDataset) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data"), raw = write_dataset(dir, "raw", true);
  EXPECT_TRUE(problems(verify_dataset(data), 5).empty());
  EXPECT_TRUE(problems(verify_dataset(raw), 5).empty());
  EXPECT_TRUE(problems(verify_token_files({data + "/train_*", raw + "/val*"}, 0), 4).empty());
}

TEST(Verify, NamesEveryBadFileOfADataset) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data");
  std::string bytes = slurp(data + "/train_00000.bin");
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  dir.write("data/train_00000.bin", bytes);
  fs::remove(data + "/train_00001.bin");
  fs::resize_file(data + "/train_00002.bin", 200);
  dir.write("data/train_00009.bin", own_shard(counting(30, 0, kVocab)));
  dir.write("data/tokenizer.model", "another tokenizer");
  expect_problems(problems(verify_dataset(data), 1), {{"tokenizer.model", "CRC"},
                                                      {"train_00000.bin", "CRC", "header"},
                                                      {"train_00001.bin", "cannot read"},
                                                      {"train_00002.bin", "cut short"},
                                                      {"train_00009.bin", "not in dataset.json"}});
  fs::create_directory(data + "/.unfinished");
  fs::remove(data + "/dataset.json");
  expect_problems(problems(verify_dataset(data), 0), {{"not finished"}});
}

TEST(Verify, ComparesFilesWithTheDescriptionOfTheirDataset) {
  const TempDir dir;
  const std::string data = write_dataset(dir, "data", /*raw=*/true);  // no checksum in the file
  std::string bytes = slurp(data + "/train_00001.bin");
  bytes[50] = static_cast<char>(bytes[50] ^ 1);
  dir.write("data/train_00001.bin", bytes);
  expect_problems(problems(verify_token_files({data + "/train*"}, 0), 2),
                  {{"train_00001.bin", "CRC", "dataset.json"}});
  fs::remove(data + "/train_00001.bin");
  expect_problems(problems(verify_token_files({data + "/train_*"}, 0), 2),
                  {{"train_00001.bin is missing"}});
}

TEST(Verify, ComparesTokensWithTheVocabulary) {
  const TempDir dir;
  dir.write("a.bin", bytes_of(counting(600000, 0, kVocab)));
  dir.write("b.bin", shard<uint16_t>({.format = ShardFormat::dashlm, .vocab_size = 90},
                                     counting(100, 0, 91)));
  EXPECT_TRUE(problems(verify_token_files({dir / "a.bin"}, 0), 1).empty());
  EXPECT_TRUE(problems(verify_token_files({dir / "a.bin"}, kVocab), 1).empty());
  expect_problems(problems(verify_token_files({dir.path()}, kVocab - 1), 0),
                  {{"a.bin: token 999 at position 999", "999"}, {"b.bin: token 90", "90"}});
}

}  // namespace
}  // namespace dashlm
