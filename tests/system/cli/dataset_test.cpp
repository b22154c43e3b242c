// Datasets from the outside: what an interrupted `tokenize` leaves, what `train` finds out before
// it begins, what `verify` says.
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "io/file.h"
#include "system/cli/expect_words.h"
#include "system/cli/run_fixture.h"
#include "unit/data/prose.h"

namespace dashlm::testing {
namespace {

namespace fs = std::filesystem;

class DatasetTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    std::string lines;
    for (int64_t i = 0; i < 300; ++i) lines += Json{{"text", test::prose(i, 30)}}.dump() + "\n";
    write_file("corpus.jsonl", lines);
  }

  std::vector<std::string> tokenize_command(const std::vector<std::string>& extra = {}) const {
    std::vector<std::string> command = {
        DASHLM_BINARY, "tokenize", path("corpus.jsonl"), "--train-tokenizer",
        "300",         "--out",    path("data"),         "--shard-tokens",
        "100"};
    command.insert(command.end(), extra.begin(), extra.end());
    return command;
  }
  // One step on some token files.
  ProcessResult train_on(const std::string& files) const {
    return train({"--set", "data.train=" + files, "--set", "model.vocab_size=300", "--set",
                  "train.steps=1", "--set", "data.val=[]"});
  }
};

// What is common to all these: nothing was trained, and the message is a help.
void expect_refused(const ProcessResult& result, const std::vector<std::string>& words) {
  expect_words(result, 1, words);
}

TEST_F(DatasetTest, AKilledTokenizeLeavesNothingToTrainOn) {
  // The largest file is dataset.json, the last to be written: the system ends the process then.
  const auto limit_files = [] {
    const rlimit none = {0, 0}, some = {9000, 9000};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &some);
  };
  ASSERT_EQ(run(tokenize_command(), limit_files).exit_code, 128 + SIGXFSZ);
  for (const char* files : {"data", "data/train_*.bin", "data/train_00000.bin"}) {
    expect_refused(train_on(path(files)), {path("data"), "not finished", "run the same command"});
  }
  const ProcessResult verified = dashlm({"verify", path("data")});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_NE(verified.output.find("not finished"), std::string::npos) << verified.output;
  EXPECT_FALSE(fs::exists(out()));

  const ProcessResult again = run(tokenize_command());
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_NE(again.errors.find("unfinished"), std::string::npos) << again.errors;
  EXPECT_FALSE(fs::exists(path("data/.unfinished")));
  EXPECT_EQ(train_on(path("data/train_*.bin")).exit_code, 0);
  EXPECT_EQ(dashlm({"verify", path("data")}).exit_code, 0);
}

TEST_F(DatasetTest, TwoTokenizeIntoOneFolderDoNotMix) {
  fs::create_directory(path("data"));
  const DirectoryLock other(path("data"));
  for (const std::vector<std::string>& extra : {std::vector<std::string>{}, {"--force"}}) {
    expect_refused(run(tokenize_command(extra)), {path("data"), "another process"});
  }
  EXPECT_TRUE(fs::is_empty(path("data")));
}

TEST_F(DatasetTest, ValidationDataIsLookedAtBeforeTraining) {
  write_file("one.bin", std::string(2, '\1'));
  expect_refused(train({"--set", "data.val=" + path("one.bin")}), {"data.val has 1 token"});
  write_tokens("large.bin", 300, 4, 400);
  expect_refused(train({"--set", "data.val=" + path("large.bin")}),
                 {"large.bin", "vocabulary size 61"});
  EXPECT_FALSE(fs::exists(out())) << "nothing is begun";
  EXPECT_EQ(train({"--set", "data.val=" + path("large.bin"), "--set", "eval.every=0", "--set",
                   "eval.final=false"})
                .exit_code,
            0)
      << "no validation, no need";
}

TEST_F(DatasetTest, OnlyAsMuchIsLookedAtAsValidationReads) {
  std::string tokens = read_file("val.bin");
  tokens[2 * 260] = 99;
  write_file("val.bin", tokens);
  const std::vector<std::string> some = {"--set", "eval.final=false", "--set", "eval.batches=2"};
  EXPECT_EQ(train(some).exit_code, 0) << "2 times 8 sequences of 16 and a token";
  fs::remove_all(out());
  expect_refused(train(), {"val.bin", "position 260"});
  tokens[2 * 256] = 99;
  write_file("val.bin", tokens);
  expect_refused(train(some), {"val.bin", "position 256"});
}

TEST_F(DatasetTest, AResumedRunLooksAtItsValidationDataToo) {
  ASSERT_EQ(train({"--set", "train.steps=10", "--set", "checkpoint.every=5"}).exit_code, 0);
  const auto before = losses(out());
  write_tokens("val.bin", 300, 4, 400);
  expect_refused(train({"--resume", "--set", "train.steps=20"}), {"val.bin", "vocabulary size 61"});
  EXPECT_EQ(losses(out()), before);
}

TEST_F(DatasetTest, TrainingDataIsLookedAtBeforeTraining) {
  std::string tokens = read_file("train_1.bin");
  tokens[2 * 300] = 77;
  write_file("train_1.bin", tokens);
  expect_refused(train({"--set", "train.steps=1"}), {"train_1.bin", "token 77 at position 300"});
  EXPECT_FALSE(fs::exists(out()));
}

// Raw tokens would be seen in any file: one that belongs to something is compared with that.
TEST_F(DatasetTest, VerifyKnowsFilesThatHoldNoTokens) {
  ASSERT_EQ(run(tokenize_command()).exit_code, 0);
  ASSERT_EQ(train().exit_code, 0);
  const std::string model =
      out() + "/checkpoints/" + checkpoints(out()).back() + "/model.safetensors";
  const auto verdict = [&](const std::string& file) { return dashlm({"verify", file}).output; };
  for (const std::string& file : {model, path("data/tokenizer.model")}) {
    EXPECT_TRUE(verdict(file).starts_with("ok   " + file)) << verdict(file);
    std::string bytes = read_file(fs::relative(file, directory_).string());
    bytes[bytes.size() / 2] ^= 1;
    write_file(fs::relative(file, directory_).string(), bytes);
    EXPECT_TRUE(verdict(file).starts_with("BAD")) << verdict(file);
  }
  EXPECT_NE(verdict(path("config.json")).find("name the folder"), std::string::npos);
}

TEST_F(DatasetTest, VerifyReadsARunsOwnFiles) {
  ASSERT_EQ(train().exit_code, 0);
  EXPECT_EQ(dashlm({"verify", out()}).exit_code, 0);
  write_file("run/config.json", "garbage");
  write_file("run/metrics.jsonl", read_file("run/metrics.jsonl") + "no line\n");
  write_file("run/tokenizer.model", "none");
  const std::string output = dashlm({"verify", out()}).output;
  for (const char* name : {"config.json", "metrics.jsonl", "tokenizer.model"}) {
    EXPECT_NE(output.find(std::string("run/") + name), std::string::npos) << output;
  }
  EXPECT_NE(output.find(" 3 bad"), std::string::npos) << output;
}

TEST_F(DatasetTest, TheTokenizerOfARunIsThatOfItsData) {
  ASSERT_EQ(run(tokenize_command()).exit_code, 0);
  EXPECT_NE(train({"--out", path("data")}).errors.find("is the folder of a dataset"),
            std::string::npos);
  // The same tokens to another tokenizer would be other words.
  ASSERT_EQ(
      dashlm({"tokenize", path("corpus.jsonl"), "--train-tokenizer", "299", "--out", path("other")})
          .exit_code,
      0);
  const std::string other = "data.tokenizer=" + path("other/tokenizer.model");
  const std::vector<std::string> onto_data = {"--set", "data.train=" + path("data/train_*.bin"),
                                              "--set", "model.vocab_size=400",
                                              "--set", "train.steps=2"};
  std::vector<std::string> arguments = onto_data;
  arguments.insert(arguments.end(), {"--set", other});
  EXPECT_NE(train(arguments).errors.find("is not the one that made the tokens"), std::string::npos);
  arguments = onto_data;
  arguments.insert(arguments.end(), {"--set", "data.tokenizer=" + path("data/tokenizer.model"),
                                     "--set", "train.steps=3", "--resume"});
  EXPECT_NE(train(arguments).errors.find("the run keeps its own"), std::string::npos);
}

TEST_F(DatasetTest, VerifyReadsDatasetsRunsAndCheckpoints) {
  ASSERT_EQ(run(tokenize_command()).exit_code, 0);
  ASSERT_EQ(train().exit_code, 0);
  const std::string checkpoint = out() + "/checkpoints/" + checkpoints(out()).back();
  const std::vector<std::string> all = {"verify",        "--json", path("data"),
                                        path("train_*"), out(),    checkpoint};
  const ProcessResult sound = dashlm(all);
  EXPECT_EQ(sound.exit_code, 0) << sound.output;
  EXPECT_EQ(Json::parse(sound.output)["ok"], true);

  const auto damage = [&](const std::string& file) {
    const auto size = static_cast<int64_t>(fs::file_size(file));
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(size / 2);
    const char byte = static_cast<char>(stream.get());
    stream.seekp(size / 2);
    stream.put(static_cast<char>(byte ^ 1));
  };
  damage(path("data/train_00002.bin"));
  damage(checkpoint + "/model.safetensors");
  write_file("train_1.bin", "odd");
  const ProcessResult bad = dashlm(all);
  EXPECT_EQ(bad.exit_code, 1);
  const Json json = Json::parse(bad.output);
  EXPECT_EQ(json["ok"], false);
  std::vector<std::string> named;
  for (const Json& file : json["files"]) {
    if (!file["ok"]) named.push_back(file["path"]);
  }
  EXPECT_EQ(named, (std::vector<std::string>{path("data/train_00002.bin"), path("train_1.bin"),
                                             checkpoint + "/model.safetensors",
                                             checkpoint + "/model.safetensors"}));
  EXPECT_EQ(json["bad"], 4);
  EXPECT_NE(dashlm({"verify", path("data")}).output.find("BAD  " + path("data/train_00002.bin")),
            std::string::npos);
  EXPECT_EQ(dashlm({"verify", path("absent")}).exit_code, 1);
}

}  // namespace
}  // namespace dashlm::testing
