// That the files we write say what SentencePiece does: the rules of tokenizer.json, carried out
// here as its format defines them, give the same ids. tests/hf_check.py asks transformers itself.
#include "model/hf_tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/random.h"
#include "data/documents.h"
#include "data/tokenizer.h"
#include "io/file.h"
#include "support/temp_folder.h"
#include "unit/data/prose.h"

namespace dashlm::testing {
namespace {

using Json = nlohmann::json;

void replace_all(std::string& text, const std::string& pattern, const std::string& content) {
  for (size_t at = 0; (at = text.find(pattern, at)) != std::string::npos; at += content.size()) {
    text.replace(at, pattern.size(), content);
  }
}

// Byte pairs by a tokenizer.json.
class Encoder {
 public:
  explicit Encoder(const std::string& text) : json_(Json::parse(text)) {
    const Json& merges = json_["model"]["merges"];
    for (size_t rank = 0; rank < merges.size(); ++rank) ranks_[merges[rank]] = rank;
  }

  std::vector<int32_t> operator()(std::string text) const {
    for (const Json& step : json_["normalizer"]["normalizers"]) {
      if (step["type"] == "Prepend") {
        if (!text.empty()) text = step["prepend"].get<std::string>() + text;
      } else {
        replace_all(text, step["pattern"]["String"], step["content"]);
      }
    }
    std::vector<int32_t> ids;
    const Json& template_ = json_["post_processor"];
    if (!template_.is_null()) {
      const std::string bos = template_["single"][0]["SpecialToken"]["id"];
      ids.push_back(template_["special_tokens"][bos]["ids"][0]);
    }
    for (const std::string& piece : merged(characters(text))) {
      ids.push_back(json_["model"]["vocab"].at(piece));
    }
    return ids;
  }

 private:
  std::vector<std::string> characters(const std::string& text) const {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin + 1;
      while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) ++end;
      const std::string character = text.substr(begin, end - begin);
      if (json_["model"]["vocab"].contains(character)) {
        parts.push_back(character);
      } else {
        for (const char byte : character) {
          parts.push_back(fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte)));
        }
      }
      begin = end;
    }
    return parts;
  }

  std::vector<std::string> merged(std::vector<std::string> parts) const {
    for (;;) {
      size_t best = ranks_.size(), at = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find(parts[i] + " " + parts[i + 1]);
        if (found == ranks_.end() || found->second >= best) continue;
        best = found->second;
        at = i;
      }
      if (best == ranks_.size()) return parts;
      parts[at] += parts[at + 1];
      parts.erase(parts.begin() + static_cast<int64_t>(at) + 1);
    }
  }

  Json json_;
  std::map<std::string, size_t> ranks_;
};

class HfTokenizerFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "text");
    for (int i = 0; i < 60; ++i) {
      std::ofstream(folder_ / ("text/" + std::to_string(i) + ".txt")) << test::prose(i, 60);
    }
    DocumentReader documents({folder_ / "text"}, false);
    train_bpe(documents, {.vocab_size = 400}, path_);
  }

  static std::string file(const HfTokenizer& tokenizer, const std::string& name) {
    for (const auto& [known, content] : tokenizer.files) {
      if (known == name) return content;
    }
    return "";
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "m.model";
};

TEST_F(HfTokenizerFiles, GiveTheIdsOfOurTokenizer) {
  const Tokenizer ours(path_);
  const Encoder theirs(file(make_hf_tokenizer(path_, true, 64), "tokenizer.json"));
  std::vector<std::string> texts = {"",
                                    "a",
                                    " a",
                                    "  a",
                                    "a ",
                                    "a  b",
                                    "\n",
                                    "\n a",
                                    "\t",
                                    "1024",
                                    " 1 2",
                                    "caf\u00e9",
                                    "\u2581",
                                    "\u2581a",
                                    "<s>",
                                    "\r\nx",
                                    "\u00a0x",
                                    "\u4f60\u597d \U0001f600",
                                    "the gradients of a model"};
  for (int i = 0; i < 20; ++i) texts.push_back(test::prose(1000 + i, 30));
  const std::vector<std::string> parts = {" ", "  ", "\n", "the", "e", "train", "1", "\u00e9", "s"};
  const CounterRandom random(3, Purpose::test);
  for (uint64_t i = 0; i < 200; ++i) {
    std::string text;
    for (uint64_t j = 0; j < 8; ++j) text += parts[random.below(parts.size(), 8 * i + j)];
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    std::vector<int32_t> expected = ours.encode(text);
    expected.insert(expected.begin(), ours.bos());
    EXPECT_EQ(theirs(text), expected) << "\"" << text << '"';
  }
}

TEST_F(HfTokenizerFiles, SayWhichTokensAreSpecial) {
  const HfTokenizer tokenizer = make_hf_tokenizer(path_, true, 64);
  EXPECT_EQ(tokenizer.bos, 1);
  EXPECT_EQ(tokenizer.eos, 2);
  EXPECT_EQ(file(tokenizer, "tokenizer.model"), read_text_file(path_));
  const Json config = Json::parse(file(tokenizer, "tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["eos_token"], "</s>");
  EXPECT_EQ(config["unk_token"], "<unk>");
  EXPECT_EQ(config["add_bos_token"], true);
  EXPECT_EQ(config["add_eos_token"], false);
  EXPECT_EQ(config["model_max_length"], 64);
  const Json json = Json::parse(file(tokenizer, "tokenizer.json"));
  std::vector<int> special;
  for (const Json& token : json["added_tokens"]) special.push_back(token["id"]);
  EXPECT_EQ(special, (std::vector<int>{0, 1, 2}));
}

TEST_F(HfTokenizerFiles, LeaveOutBosWhereTheDataDoes) {
  const HfTokenizer tokenizer = make_hf_tokenizer(path_, false, 64);
  EXPECT_EQ(Json::parse(file(tokenizer, "tokenizer_config.json"))["add_bos_token"], false);
  const std::string json = file(tokenizer, "tokenizer.json");
  EXPECT_TRUE(Json::parse(json)["post_processor"].is_null());
  EXPECT_EQ(Encoder(json)("the"), Tokenizer(path_).encode("the"));
}

// Its rules are not those of tokenizer.json above.
TEST_F(HfTokenizerFiles, OfAnotherKindOfModelAreItsOwnAlone) {
  using Option = std::pair<const char*, const char*>;
  for (const auto& [key, value] :
       {Option{"model_type", "unigram"}, Option{"normalization_rule_name", "nmt_nfkc"},
        Option{"remove_extra_whitespaces", "true"}, Option{"add_dummy_prefix", "false"},
        Option{"user_defined_symbols", "<tool>"}}) {
    std::unordered_map<std::string, std::string> options = {
        {"input", (folder_ / "text/0.txt") + "," + (folder_ / "text/1.txt")},
        {"model_prefix", folder_ / "other"},
        {"model_type", "bpe"},
        {"vocab_size", "60"},
        {"hard_vocab_limit", "false"},
        {"normalization_rule_name", "identity"},
        {"remove_extra_whitespaces", "false"},
        {"minloglevel", "2"}};
    options[key] = value;
    const auto status = sentencepiece::SentencePieceTrainer::Train(options);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const HfTokenizer tokenizer = make_hf_tokenizer(folder_ / "other.model", true, 64);
    EXPECT_EQ(tokenizer.files.size(), 2u) << key;
    EXPECT_EQ(Json::parse(file(tokenizer, "tokenizer_config.json"))["tokenizer_class"],
              "LlamaTokenizer");
  }
}

}  // namespace
}  // namespace dashlm::testing
