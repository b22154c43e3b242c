#include "data/tokenizer.h"

#include "data/documents.h"
#include "prose.h"
#include "test_files.h"

namespace dashlm {
namespace {

using test::expect_error;
using test::slurp;
using test::TempDir;

// A directory with a corpus of `documents` texts.
void write_corpus(const TempDir& dir, int64_t documents, int64_t words = 60) {
  for (int64_t i = 0; i < documents; ++i) {
    dir.write(fmt::format("{:04d}.txt", i), test::prose(i, words));
  }
}

std::string train(const TempDir& dir, const TokenizerTraining& training, const std::string& name) {
  DocumentReader documents({dir.path()}, false);
  train_bpe(documents, training, dir / name);
  return dir / name;
}

TEST(Tokenizer, RoundTripsAnyText) {
  const TempDir dir;
  write_corpus(dir, 60);
  const Tokenizer tokenizer(train(dir, {.vocab_size = 400}, "m.model"));
  EXPECT_EQ(tokenizer.vocab_size(), 400);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  for (const std::string text :
       {"", "the gradient", " leading", "trailing ", "two  spaces", "line\nbreak\n\n", "\ttab",
        "1024", "caf\u00e9 \u4f60\u597d \U0001f600", "UPPER\r\n", "e\u0301 \u00bd \ufb01"}) {
    const std::vector<int32_t> tokens = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(tokens), text);
    for (const int32_t token : tokens) {
      EXPECT_GE(token, 3) << "unknown and control tokens never come of text";
      EXPECT_LT(token, 400);
    }
  }
  const std::string text = test::prose(5, 200);
  EXPECT_LT(std::ssize(tokenizer.encode(text)) * 3, std::ssize(text) * 2) << "words are learnt";
}

TEST(Tokenizer, DigitsAreSingleTokens) {
  const TempDir dir;
  write_corpus(dir, 60);
  std::string years;
  for (int i = 0; i < 2000; ++i) years += "in 1999 ";
  dir.write("years.txt", years);
  const Tokenizer tokenizer(train(dir, {.vocab_size = 400}, "m.model"));
  EXPECT_EQ(tokenizer.encode("1999").size(), 5u) << "a space and four digits";
}

TEST(Tokenizer, TrainingDependsOnTheDocumentsAlone) {
  const TempDir dir;
  write_corpus(dir, 50);
  const std::string one = slurp(train(dir, {.vocab_size = 380}, "1.model"));
  EXPECT_EQ(slurp(train(dir, {.vocab_size = 380}, "2.model")), one);
}

TEST(Tokenizer, TrainsOnASampleSpreadOverALargeCorpus) {
  const TempDir dir;
  // Each animal lives in one part of the corpus only; the sample has room for some 25 documents.
  const auto animal = [](int64_t i) { return i < 80 ? "zebra" : i < 160 ? "quokka" : "gnu"; };
  for (int64_t i = 0; i < 240; ++i) {
    std::string text = test::prose(i, 20);
    for (int k = 0; k < 20; ++k) text += fmt::format(" {}", animal(i));
    dir.write(fmt::format("{:04d}.txt", i), text);
  }
  const Tokenizer tokenizer(train(dir, {.vocab_size = 310, .sample_bytes = 6000}, "m.model"));
  for (const char* word : {"zebra", "quokka", "gnu"}) {
    EXPECT_EQ(tokenizer.encode(word).size(), 1u) << word;
  }
}

TEST(Tokenizer, TrainsOnLinesLongerThanSentencePieceTakes) {
  const TempDir dir;
  std::string text;  // one line of 80 kB, half of it without a space
  for (int i = 0; i < 5000; ++i) text += "zebra zoo ";
  for (int i = 0; i < 15000; ++i) text += "\u00e9";
  dir.write("a.txt", text);
  const Tokenizer tokenizer(train(dir, {.vocab_size = 275}, "m.model"));
  EXPECT_EQ(tokenizer.encode("zebra").size(), 1u);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

// The message for a size that is not possible; "" for one that is.
std::string refusal(const TempDir& dir, int64_t vocab_size) {
  try {
    train(dir, {.vocab_size = vocab_size}, "m.model");
    return "";
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(dir / "m.model"));
    return error.what();
  }
}

// The number after `words` in a message.
int64_t size_in(const std::string& message, const std::string& words) {
  const size_t found = message.find(words);
  EXPECT_NE(found, std::string::npos) << "'" << words << "' is missing in: " << message;
  return found == std::string::npos ? 0 : std::stoll(message.substr(found + words.size()));
}

TEST(Tokenizer, SaysWhichSizesTheTextMakesPossible) {
  const TempDir dir;
  write_corpus(dir, 2, 5);
  const std::string too_large = refusal(dir, 5000), too_small = refusal(dir, 260);
  EXPECT_THAT(too_large, testing::HasSubstr("5000"));
  EXPECT_THAT(too_small, testing::HasSubstr("260"));
  for (const std::string& message : {too_large, too_small}) {
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("required_chars"))) << "not our words";
    EXPECT_THAT(message, testing::Not(testing::HasSubstr(".cc")));
  }
  const int64_t most = size_in(too_large, "at most "), least = size_in(too_small, "at least ");
  ASSERT_LT(least, most);
  EXPECT_NE(refusal(dir, least - 1), "");
  EXPECT_EQ(refusal(dir, least), "");
  std::filesystem::remove(dir / "m.model");
  EXPECT_NE(refusal(dir, most + 1), "");
  EXPECT_EQ(refusal(dir, most), "");
}

TEST(Tokenizer, RefusesSizesThatNoTextMakesPossible) {
  const TempDir dir;
  write_corpus(dir, 1, 5);
  for (const int64_t size : {int64_t{-1}, int64_t{100}, int64_t{259}, int64_t{1000000000}}) {
    expect_error([&] { train(dir, {.vocab_size = size}, "m.model"); },
                 {std::to_string(size), "more than the 259", "at most 1048576"});
  }
}

TEST(Tokenizer, TrainsOnLinesWithTheCharacterThatSentencePieceReserves) {
  const TempDir dir;
  write_corpus(dir, 20);
  std::string text;
  for (int i = 0; i < 500; ++i) text += "\u2585zebra\u2585\u2585 zebra\u2585\n";
  dir.write("z.txt", text);
  const Tokenizer tokenizer(train(dir, {.vocab_size = 320}, "m.model"));
  EXPECT_EQ(tokenizer.encode("zebra").size(), 1u);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\u2585b")), "a\u2585b");
}

TEST(Tokenizer, SaysWhenThereIsNoModel) {
  const TempDir dir;
  expect_error([&] { Tokenizer(dir / "absent.model"); }, {"absent.model"});
  expect_error([&] { Tokenizer(dir.write("a.model", "not a model")); },
               {"a.model", "SentencePiece"});
  expect_error([&] { Tokenizer(dir.write("b.model", "")); }, {"b.model", "SentencePiece"});
}

TEST(Tokenizer, RefusesTokensOutOfRange) {
  const TempDir dir;
  write_corpus(dir, 20);
  const Tokenizer tokenizer(train(dir, {.vocab_size = 320}, "m.model"));
  EXPECT_EQ(tokenizer.decode({1, 2}), "");
  for (const int32_t token : {-1, 320}) {
    expect_error([&] { tokenizer.decode({token}); }, {"m.model", std::to_string(token)});
  }
}

}  // namespace
}  // namespace dashlm
