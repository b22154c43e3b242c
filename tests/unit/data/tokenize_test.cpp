#include "data/tokenize.h"

#include <sentencepiece_trainer.h>

#include <nlohmann/json.hpp>

#include "data/batch_loader.h"
#include "data/shard_writer.h"
#include "data/tokenizer.h"
#include "prose.h"
#include "test_files.h"

namespace dashlm {
namespace {

using nlohmann::json;
using test::expect_error;
using test::gzip;
using test::slurp;
using test::TempDir;

constexpr int64_t kDocuments = 103;
constexpr int64_t kVocab = 360;

std::string document(int64_t i) {
  return test::prose(i, 5 + i % 50);
}

// kDocuments documents as C4 has them, in two files.
void write_corpus(const TempDir& dir) {
  std::string lines[2];
  for (int64_t i = 0; i < kDocuments; ++i) {
    lines[i < 60 ? 0 : 1] += json{{"text", document(i)}, {"url", "x"}}.dump() + "\n";
  }
  dir.write("c4.00000.json.gz", gzip(lines[0]));
  dir.write("c4.00001.json.gz", gzip(lines[1]));
}

TokenizeOptions options_for(const TempDir& dir, const std::string& out) {
  TokenizeOptions options;
  options.inputs = {dir / "*.json.gz"};
  options.out = dir / out;
  options.train_tokenizer = kVocab;
  options.val_fraction = 0.1;
  options.shard_tokens = 500;
  return options;
}

std::vector<int32_t> tokens_of(const std::string& pattern) {
  const TokenStream stream({pattern}, kVocab);
  stream.verify();
  std::vector<int32_t> tokens(static_cast<size_t>(stream.size()));
  stream.read(0, stream.size(), tokens.data());
  return tokens;
}

// What the part should hold, document by document.
std::vector<int32_t> expected(const Tokenizer& tokenizer, bool val, bool bos, bool eos) {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < kDocuments; ++i) {
    if ((i % 10 == 9) != val) continue;
    const auto tokens = tokenizer.encode(document(i));
    if (bos) all.push_back(tokenizer.bos());
    all.insert(all.end(), tokens.begin(), tokens.end());
    if (eos) all.push_back(tokenizer.eos());
  }
  return all;
}

TEST(Tokenize, GoesFromDocumentsToStream) {
  const TempDir dir;
  write_corpus(dir);
  const TokenizeResult result = tokenize(options_for(dir, "out"));
  const Tokenizer tokenizer(dir / "out/tokenizer.model");
  const auto train = tokens_of(dir / "out/train_*.bin"), val = tokens_of(dir / "out/val_*.bin");
  EXPECT_EQ(train, expected(tokenizer, false, true, false));
  EXPECT_EQ(val, expected(tokenizer, true, true, false));
  EXPECT_EQ(result.train.tokens, std::ssize(train));
  EXPECT_EQ(result.val.tokens, std::ssize(val));
  EXPECT_EQ(result.train.documents, 93);
  EXPECT_EQ(result.val.documents, 10);
  EXPECT_EQ(result.vocab_size, kVocab);

  std::string text;
  for (int64_t i = 0; i < kDocuments; ++i) {
    if (i % 10 != 9) text += document(i);
  }
  EXPECT_EQ(result.train.bytes, std::ssize(text));
}

TEST(Tokenize, DescribesTheDataset) {
  const TempDir dir;
  write_corpus(dir);
  const TokenizeResult result = tokenize(options_for(dir, "out"));
  const json description = json::parse(slurp(dir / "out/dataset.json"));
  EXPECT_EQ(description["vocab_size"], kVocab);
  EXPECT_EQ(description["bytes_per_token"], 2);
  EXPECT_EQ(description["format"], "dashlm");
  EXPECT_EQ(description["sources"], (json{"c4.00000.json.gz", "c4.00001.json.gz"}));
  EXPECT_EQ(description["val"]["documents"], 10);
  EXPECT_EQ(description["train"]["text_bytes"], result.train.bytes);
  EXPECT_DOUBLE_EQ(
      description["train"]["text_bytes_per_token"].get<double>(),
      static_cast<double>(result.train.bytes) / static_cast<double>(result.train.tokens));
  int64_t tokens = 0;
  for (const json& shard : description["train"]["shards"]) {
    const std::string bytes = slurp(dir / ("out/" + shard["file"].get<std::string>()));
    EXPECT_EQ(std::ssize(bytes), shard["bytes"]);
    EXPECT_EQ(fmt::format("{:08x}", ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                                            static_cast<uInt>(bytes.size()))),
              shard["crc32"]);
    EXPECT_LE(shard["tokens"], 500);
    tokens += shard["tokens"].get<int64_t>();
  }
  EXPECT_EQ(tokens, result.train.tokens);
  EXPECT_EQ(std::ssize(description["train"]["shards"]), (tokens + 499) / 500);
}

TEST(Tokenize, ThreadsChangeNothing) {
  const TempDir dir;
  write_corpus(dir);
  TokenizeOptions options = options_for(dir, "one");
  tokenize(options);
  options.out = dir / "many";
  options.threads = 5;
  tokenize(options);
  for (const auto& entry : std::filesystem::directory_iterator(dir / "one")) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(slurp(dir / ("one/" + name)), slurp(dir / ("many/" + name))) << name;
  }
}

TEST(Tokenize, WritesEveryFormatWithAndWithoutControlTokens) {
  const TempDir dir;
  write_corpus(dir);
  TokenizeOptions options = options_for(dir, "first");
  tokenize(options);
  options.train_tokenizer = 0;
  options.tokenizer = dir / "first/tokenizer.model";
  const Tokenizer tokenizer(options.tokenizer);
  for (const ShardFormat format : {ShardFormat::raw, ShardFormat::llmc, ShardFormat::dashlm}) {
    options.out = dir / format_name(format);
    options.format = format;
    options.bos = format == ShardFormat::llmc;
    options.eos = format != ShardFormat::dashlm;
    tokenize(options);
    const TokenStream stream({options.out + "/train_*.bin"}, kVocab);
    EXPECT_EQ(stream.shards()[0].layout.format, format);
    EXPECT_EQ(tokens_of(options.out + "/train_*.bin"),
              expected(tokenizer, false, options.bos, options.eos));
  }
}

TEST(Tokenize, LeavesAnEarlierDatasetAlone) {
  const TempDir dir;
  write_corpus(dir);
  TokenizeOptions options = options_for(dir, "out");
  tokenize(options);
  const std::string before = slurp(dir / "out/dataset.json");
  options.shard_tokens = 100000;
  expect_error([&] { tokenize(options); }, {dir / "out", "already holds", "--force"});
  EXPECT_EQ(slurp(dir / "out/dataset.json"), before);
  EXPECT_TRUE(std::filesystem::exists(dir / "out/train_00001.bin"));

  std::ofstream(dir / "out/keep.bin") << "not ours";
  options.force = true;
  tokenize(options);
  EXPECT_FALSE(std::filesystem::exists(dir / "out/train_00001.bin")) << "of the earlier dataset";
  EXPECT_TRUE(std::filesystem::exists(dir / "out/keep.bin"));
}

TEST(Tokenize, AFailedRunLeavesNoDescription) {
  const TempDir dir;
  write_corpus(dir);
  dir.write("c4.00002.json.gz", gzip("{\"text\":\"good\"}\n{\"text\":7}\n"));
  TokenizeOptions first = options_for(dir, "first");
  first.inputs = {dir / "c4.00000.json.gz"};
  tokenize(first);
  TokenizeOptions options = options_for(dir, "out");
  options.train_tokenizer = 0;
  options.tokenizer = dir / "first/tokenizer.model";
  expect_error([&] { tokenize(options); }, {"c4.00002.json.gz:2", "not a string"});
  EXPECT_FALSE(std::filesystem::exists(dir / "out/dataset.json"));
  options.force = true;
  options.skip_bad = true;
  const TokenizeResult result = tokenize(options);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.train.documents + result.val.documents, kDocuments + 1);
  EXPECT_EQ(json::parse(slurp(dir / "out/dataset.json"))["skipped_documents"], 1);
}

TEST(Tokenize, ForceKeepsTheOldDatasetUntilTheNewOneIsComplete) {
  const TempDir dir;
  write_corpus(dir);
  TokenizeOptions options = options_for(dir, "out");
  tokenize(options);
  const auto before = tokens_of(dir / "out/train_*.bin");
  const std::string description = slurp(dir / "out/dataset.json");
  const std::string bad = dir.write("bad.jsonl", "{\"text\":\"good\"}\n{\"text\":7}\n");
  dir.write("cut.txt.gz", "not gzip");
  const auto with = [&](auto change) {
    TokenizeOptions changed = options;
    changed.force = true;
    change(changed);
    return [changed] { tokenize(changed); };
  };
  expect_error(with([&](auto& o) { o.inputs = {dir / "absent.txt"}; }), {"absent.txt"});
  expect_error(with([&](auto& o) { o.inputs = {dir / "cut.txt.gz"}; }), {"cut.txt.gz"});
  expect_error(with([&](auto& o) { o.inputs.push_back(bad); }), {"bad.jsonl:2"});
  expect_error(with([&](auto& o) {
                 o.tokenizer = dir / "absent.model";
                 o.train_tokenizer = 0;
               }),
               {"absent.model"});
  EXPECT_EQ(tokens_of(dir / "out/train_*.bin"), before);
  EXPECT_EQ(slurp(dir / "out/dataset.json"), description);
  options.inputs = {dir / "c4.00000.json.gz"};
  options.force = true;
  tokenize(options);
  EXPECT_LT(tokens_of(dir / "out/train_*.bin").size(), before.size());
}

TEST(Tokenize, CountsWhatItLeavesOut) {
  const TempDir dir;
  dir.write("a.jsonl", "{\"text\":\"\"}\n\n{\"text\":\"one\"}\n{\"text\":7}\n{\"text\":\"\"}\n");
  dir.write("b.txt", "");
  dir.write("c.txt", test::prose(1, 400));
  TokenizeOptions options = options_for(dir, "out");
  options.inputs = {dir / "a.jsonl", dir / "b.txt", dir / "c.txt"};
  options.train_tokenizer = 300;
  options.skip_bad = true;
  const TokenizeResult result = tokenize(options);
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.empty, 3);
  EXPECT_EQ(result.unknown, 0);
  EXPECT_EQ(result.train.documents, 2);
  const json description = json::parse(slurp(dir / "out/dataset.json"));
  EXPECT_EQ(description["skipped_documents"], 1);
  EXPECT_EQ(description["empty_documents"], 3);
  EXPECT_EQ(description["unknown_tokens"], 0);
}

TEST(Tokenize, CountsCharactersThatTheTokenizerDoesNotKnow) {
  const TempDir dir;
  dir.write("a.txt", test::prose(1, 400));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      fmt::format("--input={} --model_type=char --vocab_size=30 --hard_vocab_limit=false "
                  "--minloglevel=2",
                  dir / "a.txt"),
      nullptr, &model);
  ASSERT_TRUE(status.ok()) << status.ToString();
  TokenizeOptions options = options_for(dir, "out");
  options.inputs = {dir.write("b.txt", "the model \u4f60 trained \u597d")};
  options.train_tokenizer = 0;
  options.tokenizer = dir.write("small.model", model);
  EXPECT_EQ(tokenize(options).unknown, 2);
  EXPECT_EQ(json::parse(slurp(dir / "out/dataset.json"))["unknown_tokens"], 2);
}

TEST(Tokenize, RefusesSenselessOptions) {
  const TempDir dir;
  write_corpus(dir);
  const auto with = [&](auto change) {
    TokenizeOptions options = options_for(dir, "out");
    change(options);
    return [options] { tokenize(options); };
  };
  expect_error(with([](auto& o) { o.val_fraction = 0.6; }), {"0.6"});
  expect_error(with([](auto& o) { o.train_tokenizer = 0; }), {"tokenizer"});
  expect_error(with([](auto& o) { o.tokenizer = "x"; }), {"either"});
  expect_error(with([](auto& o) { o.shard_tokens = 0; }), {"shards of 0"});
  expect_error(with([](auto& o) { o.threads = 0; }), {"0 threads"});
  expect_error(with([](auto& o) { o.threads = 100000; }), {"100000 threads", "1024"});
  expect_error(with([](auto& o) { o.train_tokenizer = 1000000000; }), {"1000000000", "at most"});
  expect_error(with([](auto& o) { o.train_tokenizer = -5; }), {"-5"});
  EXPECT_FALSE(std::filesystem::exists(dir / "out"));
  expect_error(with([&](auto& o) { o.inputs = {dir / "*.txt"}; }), {"*.txt"});
}

TEST(Tokenize, NoValidationWhenNoneIsAsked) {
  const TempDir dir;
  write_corpus(dir);
  TokenizeOptions options = options_for(dir, "out");
  options.val_fraction = 0;
  EXPECT_EQ(tokenize(options).train.documents, kDocuments);
  EXPECT_FALSE(std::filesystem::exists(dir / "out/val_00000.bin"));
}

TEST(ShardWriter, TakesFourBytesOnlyWhereItMust) {
  const TempDir dir;
  for (const int64_t vocab_size : {65536, 65537}) {
    const std::string prefix = fmt::format("v{}", vocab_size);
    ShardWriter writer(dir.path(), prefix, ShardFormat::dashlm, vocab_size, 3);
    const auto last = static_cast<int32_t>(vocab_size - 1);
    writer.add({last, 0});
    writer.add({1, 2, 3, 4, last});
    writer.finish();
    EXPECT_EQ(writer.bytes_per_token(), vocab_size == 65536 ? 2 : 4);
    ASSERT_EQ(writer.shards().size(), 3u);
    EXPECT_EQ(writer.shards()[2].tokens, 1);
    const TokenStream stream({dir / (prefix + "_*")}, vocab_size);
    stream.verify();
    std::vector<int32_t> tokens(7);
    stream.read(0, 7, tokens.data());
    EXPECT_EQ(tokens, (std::vector<int32_t>{last, 0, 1, 2, 3, 4, last}));
  }
  expect_error([&] { ShardWriter(dir.path(), "x", ShardFormat::raw, 65537, 3); }, {"raw", "65537"});
}

TEST(Tokenize, TrainingResumesAcrossShardsAndEpochs) {
  const TempDir dir;
  write_corpus(dir);
  tokenize(options_for(dir, "out"));
  const TokenStream stream({dir / "out/train_*.bin"}, kVocab);
  ASSERT_GT(stream.shards().size(), 3u);
  const SampleOrder order(stream.size(), 32, 666);
  BatchLoader whole(stream, order, 11, {}, 2);
  SamplePosition position;
  while (position.epoch < 3) {
    const Batch batch = whole.next();
    BatchLoader resumed(stream, order, 11, position, 1);
    const Batch again = resumed.next();
    ASSERT_EQ(again.tokens, batch.tokens);
    ASSERT_EQ(again.targets, batch.targets);
    ASSERT_EQ(again.next, batch.next);
    position = batch.next;
  }
}

}  // namespace
}  // namespace dashlm
