// From text to text: tokenizer, dataset, training, generation.
#include "cli/run_fixture.h"

namespace dashlm::testing {
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
  }

  std::string generate(const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"generate",  out(),      "--prompt",
                                          "The quick", "--device", "cpu"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  }
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

}  // namespace
}  // namespace dashlm::testing
