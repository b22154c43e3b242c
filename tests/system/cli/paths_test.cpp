// Where paths start from: those of a file from its folder, those of the command line from the
// current one; and where a run finds its own when it was moved, or written by an older version.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "system/cli/expect_words.h"
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class PathsTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    fs::create_directories(path("configs"));
    fs::create_directories(path("home"));
    Json config = default_config();
    config["data"]["train"] = "../train_*.bin";
    config["data"]["val"] = {"../val.bin"};
    config["train"]["steps"] = 4;
    config["checkpoint"]["every"] = 2;
    config["out"] = "../runs/mine";
    write_config(config, "configs/a.json");
  }

  // In `folder` of the test's directory.
  ProcessResult run_in(const std::string& folder, const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {DASHLM_BINARY};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string place = path(folder), home = path("home");
    return testing::run(command, [&] {
      setenv("HOME", home.c_str(), 1);
      if (chdir(place.c_str()) != 0) _exit(99);
    });
  }
  Json resolved(const std::string& folder, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"config", path("configs/a.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = run_in(folder, arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return Json::parse(result.output);
  }

  // Makes the paths in a file of a run relative to the test's directory, as older versions did.
  void make_old(const std::string& name) const {
    std::string text = read_file(name);
    const std::string prefix = directory_.string() + "/";
    for (size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
    write_file(name, text);
  }
};

TEST_F(PathsTest, OfAFileStartFromItsFolderWhereverTheProgramRuns) {
  for (const char* folder : {"configs", "home", "."}) {
    fs::remove_all(path("runs"));
    expect_words(run_in(folder, {"train", path("configs/a.json")}), 0, {"done: 4 steps"});
    EXPECT_TRUE(fs::exists(path("runs/mine/metrics.jsonl"))) << folder;
  }
  const Json config = Json::parse(read_file("runs/mine/config.json"));
  EXPECT_EQ(config["out"], path("runs/mine"));
  EXPECT_EQ(config["data"]["train"], Json::array({path("train_*.bin")}));
  EXPECT_EQ(config["data"]["val"], Json::array({path("val.bin")}));
  const Json saved = Json::parse(read_file("runs/mine/checkpoints/step_00000004/run.json"));
  EXPECT_EQ(saved["config"]["data"], config["data"]);
  // So the run can be scored and resumed from anywhere.
  expect_words(run_in("home", {"eval", path("runs/mine")}), 0, {});
  expect_words(run_in("home", {"train", path("runs/mine/config.json"), "--resume", "--set",
                               "train.steps=6"}),
               0, {"resuming after step 4"});
}

TEST_F(PathsTest, OfTheCommandLineStartFromTheCurrentFolder) {
  EXPECT_EQ(resolved("home", {"--set", "out=x/y"})["out"], path("home/x/y"));
  EXPECT_EQ(resolved("home", {"--set", "data.train=[\"../b.bin\"]"})["data"]["train"][0],
            path("b.bin"));
  EXPECT_EQ(resolved("home", {})["out"], path("runs/mine"));
  expect_words(run_in("home", {"train", "../configs/a.json", "--out", "here"}), 0, {});
  EXPECT_TRUE(fs::exists(path("home/here/metrics.jsonl")));
}

TEST_F(PathsTest, ATildeIsTheHomeDirectory) {
  EXPECT_EQ(resolved(".", {"--set", "out=~/x"})["out"], path("home/x"));
  expect_words(run_in(".", {"train", "configs/a.json", "--out=~/run"}), 0, {});
  EXPECT_TRUE(fs::exists(path("home/run/metrics.jsonl")));
  EXPECT_FALSE(fs::exists(path("~")));
  expect_words(run_in(".", {"eval", "~/run"}), 0, {});
  expect_words(run_in(".", {"train", "configs/a.json", "--out", "~you/run"}), 1, {"~you/run"});
  EXPECT_FALSE(fs::exists(path("~you")));
}

TEST_F(PathsTest, AnEmptyOutIsRefused) {
  expect_words(run_in(".", {"train", "configs/a.json", "--out", ""}), 1, {"--out is empty"});
  EXPECT_FALSE(fs::exists(path("runs")));
}

// "data/x.bin" in configs/a.json was once meant from the folder above.
TEST_F(PathsTest, ConfigsOfTheOldRuleSayWhatToWrite) {
  Json config = default_config();
  for (const char* key : {"train", "val", "tokenizer"}) {
    config["data"] = {{"train", "../train_*.bin"}};
    config["data"][key] = key == std::string("train") ? "train_*.bin" : "val.bin";
    write_config(config, "configs/old.json");
    const std::string wanted = key == std::string("train") ? "'../train_*.bin'" : "'../val.bin'";
    expect_words(
        run_in(".", {"train", "configs/old.json", "--out", "run"}), 1,
        {"configs/old.json:", std::string("data.") + key, fmt::format("'{}'", path("configs")),
         fmt::format("'{}'", directory_.string()), "write " + wanted});
  }
  EXPECT_FALSE(fs::exists(out()));
  // The command line is another matter.
  config["data"] = {{"train", "train_*.bin"}};
  write_config(config, "configs/old.json");
  expect_words(run_in(".", {"train", "configs/old.json", "--out", "run", "--set",
                            "data.train=train_*.bin", "--set", "train.steps=2"}),
               0, {});
}

TEST_F(PathsTest, RunsOfTheOldRuleGoOn) {
  expect_words(run_in(".", {"train", "configs/a.json"}), 0, {});
  make_old("runs/mine/config.json");
  EXPECT_EQ(Json::parse(read_file("runs/mine/config.json"))["data"]["val"],
            Json::array({"val.bin"}));
  expect_words(
      run_in(".", {"train", "runs/mine/config.json", "--resume", "--set", "train.steps=6"}), 0,
      {"resuming after step 4"});
  // Moved, it goes on where it lies now.
  make_old("runs/mine/config.json");
  fs::rename(path("runs/mine"), path("home/moved"));
  expect_words(
      run_in(".", {"train", "home/moved/config.json", "--resume", "--set", "train.steps=8"}), 0,
      {"resuming after step 6"});
  EXPECT_FALSE(fs::exists(path("runs/mine")));
  EXPECT_EQ(Json::parse(read_file("home/moved/config.json"))["out"], path("home/moved"));
}

TEST_F(PathsTest, WhatIsNotUtf8IsRefusedByName) {
  expect_words(run_in(".", {"train", "configs/a.json", "--out", "caf\xe9"}), 1,
               {"'caf\\xe9'", "UTF-8"});
  expect_words(run_in(".", {"eval", "caf\xe9"}), 1, {"'caf\\xe9'", "UTF-8"});
  fs::create_directories(path("caf\xe9"));
  expect_words(run_in("caf\xe9", {"train", "../configs/a.json", "--out", "x"}), 1,
               {"caf\\xe9/x'", "UTF-8"});
  EXPECT_FALSE(fs::exists(path("caf\xe9/x")));
}

}  // namespace
}  // namespace dashlm::testing
