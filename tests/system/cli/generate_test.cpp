// From text to text: tokenizer, dataset, training, generation.
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class GenerateTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += "{\"text\": \"The quick brown fox number " + std::to_string(i % 17) +
              " jumps over the lazy dog and runs away into the dark green forest.\"}\n";
    }
    write_file("text.jsonl", text);
    const ProcessResult tokenized =
        dashlm({"tokenize", path("text.jsonl"), "--train-tokenizer", "300", "--out", path("tokens"),
                "--val-fraction", "0.05"});
    ASSERT_EQ(tokenized.exit_code, 0) << tokenized.errors;
    Json config = default_config();
    config["model"]["vocab_size"] = 300;
    config["model"]["seq_len"] = 32;
    config["model"]["d_model"] = 64;
    config["model"]["d_ff"] = 128;
    config["data"]["train"] = path("tokens") + "/train_*.bin";
    config["data"]["val"] = path("tokens") + "/val_*.bin";
    config["data"]["tokenizer"] = path("tokens/tokenizer.model");
    config["train"]["steps"] = 120;
    config["train"]["micro_batch"] = 8;
    write_config(config);
    const ProcessResult trained = train();
    ASSERT_EQ(trained.exit_code, 0) << trained.errors;
    config_ = config;
  }

  // A short run of its own; the config.json of its checkpoint, for transformers.
  Json exported_by_run(const std::string& name, const std::string& messages = "") const {
    const ProcessResult result = train({"--out", path(name), "--set", "train.steps=1"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find(messages), std::string::npos) << result.errors;
    return Json::parse(read_file(name + "/checkpoints/step_00000001/config.json"));
  }
  bool exported(const std::string& run_and_file) const {
    return std::filesystem::exists(path(run_and_file));
  }

  std::string generate(const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"generate",  out(),      "--prompt",
                                          "The quick", "--device", "cpu"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  }

  Json config_;
};

TEST_F(GenerateTest, WritesWhatItLearned) {
  const std::string likeliest = generate({"--temperature", "0", "--tokens", "20"});
  EXPECT_NE(likeliest.find("The quick brown fox number"), std::string::npos) << likeliest;
  // More tokens than the context holds: it goes on from the second half of it.
  EXPECT_GT(generate({"--temperature", "1.5", "--tokens", "100", "--top-p", "1"}).size(), 100u);

  const std::string one = generate({"--seed", "1", "--temperature", "2"});
  EXPECT_EQ(one, generate({"--seed", "1", "--temperature", "2", "--threads", "1"}));
  EXPECT_NE(one, generate({"--seed", "2", "--temperature", "2"}));
  EXPECT_EQ(generate({"--temperature", "2", "--top-k", "1"}), generate({"--temperature", "0"}));
}

// What transformers needs; tests/hf_check.py asks it.
TEST_F(GenerateTest, CheckpointsCarryTheTokenizer) {
  const std::string folder = "run/checkpoints/step_00000120/";
  EXPECT_EQ(read_file(folder + "tokenizer.model"), read_file("tokens/tokenizer.model"));
  const Json model = Json::parse(read_file(folder + "config.json"));
  EXPECT_EQ(model["bos_token_id"], 1);
  EXPECT_EQ(model["eos_token_id"], 2);
  const Json tokenizer = Json::parse(read_file(folder + "tokenizer_config.json"));
  EXPECT_EQ(tokenizer["add_bos_token"], true);
  EXPECT_EQ(tokenizer["model_max_length"], 32);
  const std::string manifest = read_file(folder + "manifest.json");
  for (const char* name : {"tokenizer.model", "tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_NE(manifest.find(std::string(name) + '"'), std::string::npos) << name;
  }
}

TEST_F(GenerateTest, BosComesBeforeATextIfItDoesInTheData) {
  ASSERT_EQ(dashlm({"tokenize", path("text.jsonl"), "--tokenizer", path("tokens/tokenizer.model"),
                    "--no-bos", "--out", path("bare")})
                .exit_code,
            0);
  config_["data"]["train"] = path("bare") + "/train_*.bin";
  write_config(config_);
  EXPECT_EQ(exported_by_run("one")["bos_token_id"], 1);
  const Json tokenizer =
      Json::parse(read_file("one/checkpoints/step_00000001/tokenizer_config.json"));
  EXPECT_EQ(tokenizer["add_bos_token"], false);
}

// Training does not need one. transformers would take 1 and 2 if nothing were said.
TEST_F(GenerateTest, WithoutATokenizerNoTokenIsSpecial) {
  const auto expect_none = [&](const std::string& name, const std::string& messages) {
    const Json model = exported_by_run(name, messages);
    EXPECT_TRUE(model.contains("bos_token_id") && model["bos_token_id"].is_null());
    EXPECT_TRUE(model.contains("eos_token_id") && model["eos_token_id"].is_null());
    EXPECT_FALSE(exported(name + "/checkpoints/step_00000001/tokenizer_config.json"));
  };
  config_["data"]["tokenizer"] = "";
  write_config(config_);
  expect_none("none", "");
  config_["data"]["tokenizer"] = path("tokens/tokenizer.model");
  config_["model"]["vocab_size"] = 290;  // tokens that no shard of raw numbers has
  config_["data"]["train"] = path("train_*.bin");
  config_["data"]["val"] = path("val.bin");
  write_config(config_);
  expect_none("small", "has 300 tokens, but model.vocab_size = 290");
}

TEST_F(GenerateTest, ARunKeepsItsTokenizer) {
  const std::vector<std::string> likeliest = {"--temperature", "0", "--tokens", "8"};
  const std::string text = generate(likeliest);
  EXPECT_EQ(read_file("run/tokenizer.model"), read_file("tokens/tokenizer.model"));
  fs::rename(path("tokens"), path("elsewhere"));
  EXPECT_EQ(generate(likeliest), text);
  fs::rename(out(), path("moved"));
  const auto moved = [&](const std::string& place) {
    return dashlm({"generate", path(place), "--prompt", "The quick", "--device", "cpu",
                   "--temperature", "0", "--tokens", "8"});
  };
  EXPECT_EQ(moved("moved").output, text);
  EXPECT_EQ(moved("moved/checkpoints/step_00000120/").output, text);
  EXPECT_EQ(moved("moved/checkpoints").output, text);
  fs::remove(path("moved/tokenizer.model"));  // checkpoints carry it too
  EXPECT_EQ(moved("moved").output, text);
}

TEST_F(GenerateTest, ThePromptMayComeFromTheStandardInput) {
  write_file("prompt.txt", "The quick\n");
  const std::string command =
      "exec \"$0\" generate \"$1\" --prompt - --device cpu --temperature 0 "
      "--tokens 8 < \"$2\"";
  const auto from = [&](const char* file) {
    return run({"/bin/sh", "-c", command, DASHLM_BINARY, out(), path(file)});
  };
  EXPECT_EQ(from("prompt.txt").output, generate({"--temperature", "0", "--tokens", "8"}));
  write_file("bad.txt", "caf\xe9");
  EXPECT_EQ(from("bad.txt").exit_code, 1);
  EXPECT_NE(from("bad.txt").errors.find("UTF-8"), std::string::npos);
}

// What comes is what would have come all at once: one text, whatever is cut from the end of it.
TEST_F(GenerateTest, TextIsTheSameTokenByToken) {
  const std::string whole = generate({"--seed", "5", "--temperature", "3", "--tokens", "60"});
  for (const char* tokens : {"1", "7", "30", "59"}) {
    std::string part = generate({"--seed", "5", "--temperature", "3", "--tokens", tokens});
    part.pop_back();                                                // the newline
    while (part.ends_with("\uFFFD")) part.resize(part.size() - 3);  // half a character
    EXPECT_TRUE(whole.starts_with(part)) << part << "\n" << whole;
  }
}

// The text is there before the process ends: a reader sees it while more is to come.
TEST_F(GenerateTest, TokensAreShownAsTheyCome) {
  const ProcessResult result =
      run({"/bin/sh", "-c",
           "timeout 60 \"$0\" generate \"$1\" --prompt 'The quick' --device cpu --tokens 100000000 "
           "--temperature 1 2> \"$2\" | head -c 200",
           DASHLM_BINARY, out(), path("errors.txt")});
  EXPECT_EQ(result.output.size(), 200u);
  EXPECT_TRUE(result.output.starts_with("The quick")) << result.output;
}

}  // namespace
}  // namespace dashlm::testing
