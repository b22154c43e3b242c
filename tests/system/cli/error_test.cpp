// Bad input gets an error that names what is wrong, and exit code 1.
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class ErrorTest : public RunTest {
 protected:
  void expect_error(const ProcessResult& result, const std::vector<std::string>& words,
                    int exit_code = 1) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    for (const std::string& word : words) {
      EXPECT_NE(result.errors.find(word), std::string::npos)
          << "'" << word << "' is missing in: " << result.errors;
    }
  }
  void expect_set_error(const std::string& assignment,
                        const std::vector<std::string>& words) const {
    expect_error(train({"--set", assignment}), words);
  }
};

TEST_F(ErrorTest, Configuration) {
  expect_set_error("model.n_layers=2", {"model.n_layers", "did you mean model.n_layer?"});
  expect_set_error("train.lr=fast", {"train.lr", "number", "fast"});
  expect_set_error("train.steps=0", {"train.steps", "0", "at least 1"});
  expect_set_error("train.schedule=cosin", {"train.schedule", "one_cycle, cosine"});
  expect_set_error("model.n_head=5", {"model.n_head = 5", "model.d_model = 24"});
  expect_set_error("model.n_kv_head=3", {"model.n_kv_head = 3", "model.n_head = 4"});
  expect_set_error("train.micro_batch=9", {"train.micro_batch = 9", "train.batch = 8"});
  expect_set_error("train.warmup_steps=25", {"train.warmup_steps = 25", "train.steps = 24"});
  expect_set_error("optimizer.beta2=1", {"optimizer.beta2"});
  expect_set_error("optimizer.eps=0", {"optimizer.eps"});
  expect_set_error("threads=5000", {"threads", "1024"});
  expect_set_error("train.batch=9000000000000000000", {"train.batch"});
  expect_error(train({"--set", "train.batch=2000000000", "--set", "train.micro_batch=0"}),
               {"train.micro_batch", "model.seq_len"});
  expect_error(train({"--set", "optimizer={\"type\":\"dash\",\"block_size\":1}", "--set",
                      "model.vocab_size=5000"}),
               {"optimizer.block_size = 1", "blocks"});
  expect_set_error("device=cuda", {"cuda"});
  expect_set_error("device=tpu", {"tpu", "\"cpu\""});
  expect_error(train({"--set", "train.lr"}), {"section.key=value"});
  expect_error(dashlm({"train", path("absent.json"), "--out", out()}), {"absent.json"});
  write_file("broken.json", "{\n  \"model\": {,}\n}");
  expect_error(dashlm({"train", path("broken.json"), "--out", out()}), {"broken.json:2:"});
  expect_error(dashlm({"train", path("config.json")}), {"--out"});
  expect_error(dashlm({"trian"}), {});
  EXPECT_FALSE(std::filesystem::exists(out() + "/config.json"));
}

TEST_F(ErrorTest, Data) {
  expect_set_error("data.train=" + path("absent.bin"), {"absent.bin"});
  write_file("empty.bin", "");
  expect_set_error("data.train=" + path("empty.bin"), {"empty.bin", "empty"});
  write_file("odd.bin", "abc");
  expect_set_error("data.train=" + path("odd.bin"), {"odd.bin", "3"});
  expect_set_error("model.seq_len=100000", {"100000", "1233"});
  write_tokens("large.bin", 400, 9, 400);
  expect_set_error("data.train=" + path("large.bin"), {"large.bin", "61"});
}

TEST_F(ErrorTest, DirectoryThatHoldsARun) {
  ASSERT_EQ(train().exit_code, 0);
  const auto before = losses(out());
  expect_error(train(), {out(), "--resume"});
  EXPECT_EQ(losses(out()), before);
}

TEST_F(ErrorTest, Commands) {
  expect_error(dashlm({"eval", path("absent")}), {"absent"});
  expect_error(dashlm({"generate", path("absent")}), {"absent"});
  ASSERT_EQ(train().exit_code, 0);
  expect_error(dashlm({"generate", out(), "--prompt", "x"}), {"data.tokenizer", "--tokenizer"});
  EXPECT_EQ(dashlm({"--help"}).exit_code, 0);
  EXPECT_EQ(dashlm({"--version"}).exit_code, 0);
}

TEST_F(ErrorTest, ConfigCommandListsEveryKeyOfAResolvedConfig) {
  const std::string text = dashlm({"config"}).output;
  const ProcessResult resolved = dashlm({"config", path("config.json")});
  ASSERT_EQ(resolved.exit_code, 0) << resolved.errors;
  const Json json = Json::parse(resolved.output);
  for (const auto& [section, value] : json.items()) {
    EXPECT_NE(text.find(section), std::string::npos) << section;
    if (!value.is_object()) continue;
    for (const auto& [key, unused] : value.items()) {
      EXPECT_NE(text.find(section + "." + key + " "), std::string::npos) << section << "." << key;
    }
  }
}

}  // namespace
}  // namespace dashlm::testing
