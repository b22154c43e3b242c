// What the command line says about itself, and about what is wrong with it.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class UsageTest : public RunTest {
 protected:
  void expect_words(const ProcessResult& result, int exit_code,
                    const std::vector<std::string>& words) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.errors << result.output;
    for (const std::string& word : words) {
      EXPECT_NE((result.errors + result.output).find(word), std::string::npos)
          << "'" << word << "' is missing in: " << result.errors << result.output;
    }
  }
};

TEST_F(UsageTest, MistypedCommandsAndOptionsSuggestTheNearest) {
  expect_words(dashlm({"trian"}), 1, {"`dashlm trian`", "did you mean train?", "generate"});
  expect_words(dashlm({"bench", "optimiser"}), 1, {"did you mean optimizer?"});
  expect_words(dashlm({"train", path("config.json"), "--ouy", "x"}), 1,
               {"`dashlm train` has no option '--ouy'", "did you mean --out?"});
  expect_words(dashlm({"eval", "a", "b"}), 1, {"'b'"});
  expect_words(dashlm({}), 1, {"dashlm --help"});
  expect_words(dashlm({"eval"}), 1, {"PATH", "dashlm eval --help"});
}

TEST_F(UsageTest, HelpIsACommandToo) {
  expect_words(dashlm({"help"}), 0, {"train", "generate"});
  expect_words(dashlm({"help", "train"}), 0, {"--resume-or-start"});
  expect_words(dashlm({"help", "bench", "step"}), 0, {"--steps"});
  expect_words(dashlm({"help", "trian"}), 1, {"did you mean train?"});
  EXPECT_EQ(dashlm({"help", "train"}).output, dashlm({"train", "--help"}).output);
}

TEST_F(UsageTest, TheVersionNamesWhatItWasBuiltOf) {
  const ProcessResult result = dashlm({"--version"});
  expect_words(result, 0,
               {"dashlm ", "(commit ", "compiler ", "backends ", "cpu", "OpenBLAS",
                "sentencepiece ", "nlohmann/json "});
  EXPECT_EQ(result.errors, "");
}

TEST_F(UsageTest, TheChangelogBeginsWithThisVersion) {
  std::ifstream file(DASHLM_SOURCE_DIR "/CHANGELOG.md");
  std::string line;
  while (std::getline(file, line) &&
         (!line.starts_with("## [") || line.starts_with("## [Unreleased]"))) {
  }
  const std::string newest = line.substr(0, line.find(']')).erase(0, 4);
  ASSERT_FALSE(newest.empty());
  expect_words(dashlm({"--version"}), 0, {"dashlm " + newest + " (commit "});
}

TEST_F(UsageTest, RangesAreShort) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"bench", "step", path("config.json"), "--steps", "0"},
                                             {"bench", "roots", "--repeats", "0"},
                                             {"eval", out(), "--batch", "0"},
                                             {"generate", out(), "--tokens", "-1"},
                                             {"generate", out(), "--temperature", "-1"},
                                             {"plan", path("config.json"), "--network", "0"}}) {
    const ProcessResult result = dashlm(command);
    expect_words(result, 1, {command[command.size() - 2], "is not a"});
    EXPECT_LT(result.errors.size(), 200u) << result.errors;
  }
}

TEST_F(UsageTest, OutputThatCannotBeWrittenIsAFailure) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP();
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"config"},
                                             {"config", path("config.json")},
                                             {"plan", path("config.json")},
                                             {"devices"},
                                             {"--version"},
                                             {"--help"}}) {
    std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full",
                                        DASHLM_BINARY};
    command.insert(command.end(), arguments.begin(), arguments.end());
    expect_words(testing::run(command), 2, {"standard output"});
  }
}

TEST_F(UsageTest, ConfigsMayChangeTheirTypeOnTheCommandLine) {
  Json config = default_config();
  config["optimizer"] = {{"type", "dash"},
                         {"block_size", 10},
                         {"inverse_root", {{"steps", 20}, {"scaling", {{"type", "frobenius"}}}}}};
  write_config(config);
  const auto resolved = [&](const std::string& setting) {
    const ProcessResult result = dashlm({"config", path("config.json"), "--set", setting});
    expect_words(result, 0, {"--set '" + setting + "'", "drops"});
    return Json::parse(result.output)["optimizer"];
  };
  const Json adamw = resolved("optimizer.type=adamw");
  EXPECT_EQ(adamw["block_size"], 1024);
  EXPECT_FALSE(adamw.contains("inverse_root"));
  const Json evd = resolved("optimizer.inverse_root.type=evd");
  EXPECT_EQ(evd["block_size"], 10);
  EXPECT_EQ(evd["inverse_root"]["type"], "evd");
  EXPECT_FALSE(evd["inverse_root"].contains("scaling"));
  EXPECT_EQ(resolved(R"(optimizer={"type":"shampoo"})")["block_size"], 1024);
  expect_words(dashlm({"config", path("config.json"), "--set", R"(optimizer={"frequency":3})"}), 0,
               {"\"block_size\": 10", "\"frequency\": 3"});
}

TEST_F(UsageTest, UnknownKeysSuggestTheNearestAnywhere) {
  for (const auto& [wrong, right] : {std::pair("n_layer=2", "model.n_layer"),
                                     {"train.weight_decay=1", "optimizer.weight_decay"},
                                     {"model.n_layers=2", "model.n_layer"},
                                     {"optimizer.lr=1", "train.lr"}}) {
    expect_words(dashlm({"config", path("config.json"), "--set", wrong}), 1,
                 {std::string("--set '") + wrong, std::string("did you mean ") + right + "?"});
  }
  expect_words(dashlm({"config", path("config.json"), "--set", "optimizer.block_siz=2"}), 1,
               {"optimizer.block_size"});
}

TEST_F(UsageTest, SettingsThatDoNothingAreWarnedOf) {
  const auto warned = [&](const std::vector<std::string>& settings, const std::string& words) {
    std::vector<std::string> arguments = {"config", path("config.json")};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    expect_words(dashlm(arguments), 0, {words});
  };
  warned({"optimizer={\"type\":\"dash\",\"start\":25}"}, "no update is preconditioned");
  warned({"optimizer={\"type\":\"shampoo\",\"frequency\":25}"}, "no update is preconditioned");
  warned({"optimizer={\"type\":\"dash\",\"start\":0}"}, "optimizer.start = 0 is the same as 1");
  warned({"optimizer.lr_scale=*=0"}, "nothing is trained");
  warned({"train.lr=0"}, "nothing is trained");
  const std::string quiet =
      dashlm({"config", path("config.json"), "--set", "optimizer={\"type\":\"dash\",\"start\":24}"})
          .errors;
  EXPECT_EQ(quiet.find("preconditioned"), std::string::npos) << quiet;
  expect_words(dashlm({"config", path("config.json"), "--set", "train.lr=1e-400"}), 1,
               {"1e-400 is too small"});
  expect_words(dashlm({"config", path("config.json"), "--set", "train.lr=1e400"}), 1,
               {"1e400 is too large"});
}

TEST_F(UsageTest, EvalTakesAFolderOfCheckpoints) {
  ASSERT_EQ(train({"--set", "train.steps=10"}).exit_code, 0);
  const ProcessResult result = dashlm({"eval", out() + "/checkpoints"});
  expect_words(result, 0, {"step_00000010"});
  expect_words(dashlm({"eval", directory_.string()}), 1, {"checkpoints/step_"});
}

}  // namespace
}  // namespace dashlm::testing
