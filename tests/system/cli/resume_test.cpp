// An interrupted and resumed run is the uninterrupted one, bit for bit; and no interruption leaves
// a run that cannot go on.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/random.h"
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class ResumeTest : public RunTest {
 protected:
  // The run that nothing interrupted.
  void SetUp() override {
    RunTest::SetUp();
    const ProcessResult result = train({"--out", path("whole")});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }

  void expect_same_as_whole() const {
    EXPECT_EQ(losses(out()), losses(path("whole")));
    for (const char* kind : {"eval", "final"}) {
      const auto got = metrics(out(), kind), wanted = metrics(path("whole"), kind);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i]["val_loss"], wanted[i]["val_loss"]);
    }
    for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
      const std::string name = std::string("/checkpoints/step_00000024/") + file;
      EXPECT_EQ(read_file("run" + name), read_file("whole" + name)) << file;
    }
  }

  // Statistics of blocks, as far as the resumed process can know them (src/train/metrics.h).
  void expect_same_statistics() const {
    const auto got = metrics(out(), "blocks"), wanted = metrics(path("whole"), "blocks");
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      for (const auto& [key, value] : got[i].items()) EXPECT_EQ(value, wanted[i][key]) << got[i];
      const bool all_roots_are_new = got[i]["step"] == 24;
      EXPECT_TRUE(!all_roots_are_new || got[i].size() == wanted[i].size()) << got[i];
    }
  }

  void wait_for_steps(size_t count) const {
    for (int i = 0; i < 5000 && metrics(out(), "train").size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_GE(metrics(out(), "train").size(), count);
  }

  void damage(const std::string& name, int64_t at) const {
    std::string content = read_file(name);
    content[static_cast<size_t>(at)] = static_cast<char>(content[static_cast<size_t>(at)] ^ 1);
    write_file(name, content);
  }
};

TEST_F(ResumeTest, FromAnOlderCheckpointAcrossShardsAndEpochs) {
  ASSERT_EQ(train().exit_code, 0);
  // An epoch has 76 sequences, so steps 16 to 24 begin in the second epoch and end in the third.
  const Json state = Json::parse(read_file("run/checkpoints/step_00000015/run.json"))["state"];
  EXPECT_EQ(state["epoch"], 1);
  fs::remove_all(out() + "/checkpoints/step_00000020");
  fs::remove_all(out() + "/checkpoints/step_00000024");
  const ProcessResult result = train({"--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("resuming after step 15"), std::string::npos);
  expect_same_as_whole();
}

// Weights that the model computes with are rounded, but those that go on from a checkpoint are not.
TEST_F(ResumeTest, Bf16RunsGoOnBitForBit) {
  for (const char* residual : {"fp32", "bf16"}) {
    Json config = default_config();
    config["train"]["precision"] = "bf16";
    config["train"]["residual"] = residual;
    write_config(config);
    fs::remove_all(path("whole"));
    fs::remove_all(out());
    ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
    ASSERT_EQ(train().exit_code, 0);
    fs::remove_all(out() + "/checkpoints/step_00000020");
    fs::remove_all(out() + "/checkpoints/step_00000024");
    const ProcessResult result = train({"--resume"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    expect_same_as_whole();
  }
}

TEST_F(ResumeTest, AnotherPrecisionIsRefused) {
  const ProcessResult result =
      train({"--resume", "--out", path("whole"), "--set", "train.precision=bf16"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.errors.find("train.precision = \"fp32\", the config has \"bf16\""),
            std::string::npos)
      << result.errors;
}

// Stale and staggered roots, momentum and power iterations all have to come back as they were.
TEST_F(ResumeTest, BlockOptimizersGoOnBitForBit) {
  for (const char* type : {"dash", "shampoo"}) {
    Json config = default_config();
    config["optimizer"] = {{"type", type},        {"block_size", 10},     {"frequency", 4},
                           {"stagger", true},     {"momentum", 0.5},      {"vectors", "shampoo"},
                           {"weight_decay", 0.1}, {"statistics_every", 6}};
    write_config(config);
    fs::remove_all(path("whole"));
    fs::remove_all(out());
    ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
    ASSERT_EQ(train().exit_code, 0);
    EXPECT_FALSE(metrics(out(), "blocks").empty());
    fs::remove_all(out() + "/checkpoints/step_00000020");
    fs::remove_all(out() + "/checkpoints/step_00000024");
    std::vector<std::string> resume = {"--resume"};
    if (type == std::string("dash"))
      resume.insert(resume.end(), {"--set", "optimizer.stacking=layer"});
    const ProcessResult result = train(resume);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find("resuming after step 15"), std::string::npos);
    expect_same_as_whole();
    if (resume.size() == 1) expect_same_statistics();  // groups follow the stacking
  }
}

TEST_F(ResumeTest, GroupsOfDifferentOptimizersGoOnBitForBit) {
  Json config = default_config();
  config["optimizer"] = Json::parse(R"({
      "type": "ademamix", "beta3": 0.99, "alpha_warmup": 20, "beta3_warmup": 20,
      "groups": [{"match": "layer*", "optimizer": "dash", "block_size": 10, "frequency": 4},
                 {"match": "embed", "lr_scale": 0.5}]})");
  write_config(config);
  fs::remove_all(path("whole"));
  ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
  ASSERT_EQ(train().exit_code, 0);
  fs::remove_all(out() + "/checkpoints/step_00000020");
  fs::remove_all(out() + "/checkpoints/step_00000024");
  const ProcessResult result = train({"--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors.find("resuming with"), std::string::npos) << result.errors;
  expect_same_as_whole();
}

TEST_F(ResumeTest, StopSignalsWriteACheckpoint) {
  for (const int signal : {SIGTERM, SIGINT}) {
    fs::remove_all(out());
    Process process(train_command());
    wait_for_steps(3);
    process.signal(signal);
    const ProcessResult stopped = process.wait();
    if (stopped.exit_code != 0) {  // it may have been faster than the signal
      EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.errors;
      EXPECT_FALSE(checkpoints(out()).empty());
    }
    ASSERT_EQ(train({"--resume"}).exit_code, 0);
    expect_same_as_whole();
  }
}

TEST_F(ResumeTest, KilledAtAnyMoment) {
  const CounterRandom random(5, Purpose::test);
  Json config = default_config();
  config["checkpoint"]["every"] = 1;  // it is mostly busy saving
  write_config(config);
  for (uint64_t i = 0; i < 12; ++i) {
    Process process(train_command({"--resume-or-start"}));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(150000, i)));
    process.signal(SIGKILL);
    process.wait();
  }
  const ProcessResult result = train({"--resume-or-start"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  expect_same_as_whole();
}

TEST_F(ResumeTest, DamagedCheckpointsArePassedOver) {
  ASSERT_EQ(train().exit_code, 0);
  damage("run/checkpoints/step_00000024/model.safetensors", 3000);
  fs::remove(out() + "/checkpoints/step_00000020/optimizer.safetensors");
  const ProcessResult result = train({"--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("model.safetensors"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("optimizer.safetensors"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("resuming after step 15"), std::string::npos) << result.errors;
  expect_same_as_whole();
}

TEST_F(ResumeTest, DamagedCheckpointsAloneAreNoReasonToStartAgain) {
  ASSERT_EQ(train().exit_code, 0);
  const auto before = losses(out());
  for (const std::string& name : checkpoints(out())) {
    damage("run/checkpoints/" + name + "/model.safetensors", 3000);
  }
  const ProcessResult result = train({"--resume"});
  EXPECT_EQ(result.exit_code, 1) << result.errors;
  EXPECT_NE(result.errors.find("damaged"), std::string::npos) << result.errors;
  EXPECT_EQ(losses(out()), before);
}

TEST_F(ResumeTest, FullDiskKeepsThePreviousCheckpoint) {
  // Files may grow to 40 kB: enough for log and metrics, not for the weights.
  ASSERT_EQ(train().exit_code, 0);
  fs::remove_all(out() + "/checkpoints/step_00000020");
  fs::remove_all(out() + "/checkpoints/step_00000024");
  const ProcessResult full = testing::run(train_command({"--resume"}), [] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{40000, 40000};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_EQ(full.exit_code, 2) << full.errors;
  EXPECT_NE(full.errors.find("safetensors"), std::string::npos) << full.errors;
  EXPECT_EQ(checkpoints(out()), std::vector<std::string>{"step_00000015"});
  ASSERT_EQ(train({"--resume"}).exit_code, 0);
  expect_same_as_whole();
}

TEST_F(ResumeTest, OneProcessARunDirectory) {
  Process first(train_command({"--set", "train.steps=100000"}));
  wait_for_steps(2);
  const ProcessResult second = train({"--resume"});
  EXPECT_EQ(second.exit_code, 1) << second.errors;
  EXPECT_NE(second.errors.find("another process"), std::string::npos) << second.errors;
}

// Killed before its first checkpoint: it has a config, perhaps some lines of metrics.
TEST_F(ResumeTest, WithoutACheckpointItStartsFromTheBeginning) {
  ASSERT_EQ(train().exit_code, 0);
  for (const char* lines : {"", "{\"kind\": \"train\", \"step\": 1}\n{\"kind\": \"tra"}) {
    fs::remove_all(out() + "/checkpoints");
    fs::create_directories(out() + "/checkpoints");
    write_file("run/metrics.jsonl", lines);
    const ProcessResult result = train({"--resume"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find("starting from the beginning"), std::string::npos);
    expect_same_as_whole();
  }
}

// It is held to what it was begun with all the same.
TEST_F(ResumeTest, WithoutACheckpointTheConfigIsComparedToo) {
  ASSERT_EQ(train().exit_code, 0);
  const auto kill_early = [&] {
    fs::remove_all(out() + "/checkpoints");
    fs::create_directories(out() + "/checkpoints");
    write_file("run/metrics.jsonl", "");
  };
  kill_early();
  const std::string before = read_file("run/config.json");
  const ProcessResult refused = train({"--resume", "--set", "model.n_layer=3"});
  EXPECT_EQ(refused.exit_code, 1) << refused.errors;
  EXPECT_NE(refused.errors.find("run/config.json': it has model.n_layer = 2, the config has 3"),
            std::string::npos)
      << refused.errors;
  EXPECT_EQ(read_file("run/config.json"), before);
  const ProcessResult warned = train({"--resume", "--set", "train.lr=0.02"});
  EXPECT_EQ(warned.exit_code, 0) << warned.errors;
  EXPECT_NE(warned.errors.find("train.lr = 0.02, which was 0.01"), std::string::npos)
      << warned.errors;
}

TEST_F(ResumeTest, AnotherStateOfTheOptimizerIsPutDownToItsSettings) {
  Json config = default_config();
  config["optimizer"] = {{"type", "dash"}, {"block_size", 10}};
  write_config(config);
  ASSERT_EQ(train().exit_code, 0);
  for (const char* key :
       {"groups=[{\"match\": \"embed\", \"lr_scale\": 0}]", "block_size=12", "momentum=0.5"}) {
    const ProcessResult result =
        train({"--resume", "--set", "train.steps=25", "--set", "optimizer." + std::string(key)});
    EXPECT_EQ(result.exit_code, 1) << result.errors;
    const std::string name =
        "; optimizer." + std::string(key).substr(0, std::string(key).find('='));
    EXPECT_NE(result.errors.find(name + " = "), std::string::npos) << result.errors;
  }
}

TEST_F(ResumeTest, AnotherModelVocabularyOptimizerOrDataIsRefused) {
  ASSERT_EQ(train().exit_code, 0);
  const auto refused = [&](const std::vector<std::string>& extra, const std::string& word) {
    std::vector<std::string> arguments = {"--resume"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = train(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.errors;
    EXPECT_NE(result.errors.find(word), std::string::npos) << result.errors;
  };
  refused({"--set", "model.n_layer=3"}, "model.n_layer = 2");
  refused({"--set", "model.vocab_size=64"}, "model.vocab_size");
  refused({"--set", "data.train=" + path("train_0.bin")}, "data.train");
  const ProcessResult warned = train({"--resume", "--set", "train.lr=0.02"});
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_NE(warned.errors.find("train.lr = 0.02, which was 0.01"), std::string::npos)
      << warned.errors;
}

}  // namespace
}  // namespace dashlm::testing
