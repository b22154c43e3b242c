// A checkpoint of any number of ranks is taken up by any other number.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/random.h"
#include "base/timer.h"
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class RankRestore : public RanksTest {
 protected:
  void SetUp() override {
    RanksTest::SetUp();
    Json config = Json::parse(read_file("config.json"));
    config["checkpoint"]["keep"] = 10;
    config["train"]["compare_ranks_every"] =
        0;  // comparing waits for weights that saving must wait for
    config["optimizer"] = {
        {"type", "dash"},       {"block_size", 10},
        {"frequency", 4},       {"momentum", 0.5},
        {"stagger", true},      {"weight_decay", 0.1},
        {"vectors", "shampoo"}, {"inverse_root", {{"ridge", 1e-6}}}};  // see curves_test.cpp
    write_config(config);
  }
  // All ranks end within 30 s. Open MPI 4.1's mpirun may then, rarely, lock itself up when a rank
  // was killed while MPI started: false if it had to be killed.
  static bool wait_for_end(Process& job) {
    const Timer timer;
    while (job.running() && timer.seconds() < 30) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(rank_processes(job.pid()).empty());
    if (!job.running()) return true;
    job.signal(SIGKILL);
    return false;
  }
  void keep_until(int64_t step, const std::string& run) const {
    for (const std::string& name : checkpoints(path(run))) {
      if (std::stoll(name.substr(5)) > step) fs::remove_all(path(run) + "/checkpoints/" + name);
    }
  }
};

TEST_F(RankRestore, FromFourRanksOnTwoOnOneOnThree) {
  ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
  ASSERT_EQ(train_ranks(4, out()).exit_code, 0);
  keep_until(10, "run");
  ASSERT_EQ(checkpoints(out()).back(), "step_00000010");
  ASSERT_EQ(train_ranks(2, out(), {"--resume"}).exit_code, 0);
  expect_same_curve(out(), path("whole"));
  keep_until(15, "run");
  const ProcessResult alone = train({"--resume"});
  ASSERT_EQ(alone.exit_code, 0) << alone.errors;
  EXPECT_NE(alone.errors.find("resuming after step 15"), std::string::npos);
  expect_same_curve(out(), path("whole"));
  keep_until(20, "run");
  const ProcessResult three = train_ranks(3, out(), {"--resume"});
  ASSERT_EQ(three.exit_code, 0) << three.errors;
  EXPECT_NE(three.errors.find("resuming after step 20"), std::string::npos);
  expect_same_curve(out(), path("whole"));
}

// The f32 weights of blocks change hands with the blocks.
TEST_F(RankRestore, Bf16RunsGoOnOnOtherNumbersOfRanks) {
  const std::vector<std::string> bf16 = {"--set", "train.precision=bf16"};
  ASSERT_EQ(train({"--out", path("whole"), bf16[0], bf16[1]}).exit_code, 0);
  ASSERT_EQ(train_ranks(3, out(), bf16).exit_code, 0);
  expect_losses_close(out(), path("whole"), 5e-3);
  keep_until(10, "run");
  for (const int ranks : {2, 1}) {
    const ProcessResult result = ranks == 1
                                     ? train({"--resume", bf16[0], bf16[1]})
                                     : train_ranks(ranks, out(), {"--resume", bf16[0], bf16[1]});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    expect_losses_close(out(), path("whole"), 5e-3);
    if (ranks > 1) keep_until(15, "run");
  }
}

TEST_F(RankRestore, OnAsManyRanksBitForBit) {
  ASSERT_EQ(train_ranks(3, path("whole")).exit_code, 0);
  ASSERT_EQ(train_ranks(3, out()).exit_code, 0);
  keep_until(15, "run");
  ASSERT_EQ(train_ranks(3, out(), {"--resume"}).exit_code, 0);
  EXPECT_EQ(losses(out()), losses(path("whole")));
  for (const auto& entry : fs::directory_iterator(path("whole/checkpoints/step_00000024"))) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = "/checkpoints/step_00000024/" + entry.path().filename().string();
    EXPECT_EQ(read_file("run" + name), read_file("whole" + name)) << name;
  }
}

TEST_F(RankRestore, OtherCommandsReadWhatManyRanksWrote) {
  ASSERT_EQ(train_ranks(3, out()).exit_code, 0);
  const ProcessResult result = dashlm({"eval", out(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const double loss = metrics(out(), "final")[0]["val_loss"];
  EXPECT_NEAR(Json::parse(result.output)["val_loss"].get<double>(), loss, 1e-5 * loss);
  const ProcessResult shared =
      mpirun({"-n", "2", DASHLM_BINARY, "eval", out(), "--json", "--threads", "1"});
  ASSERT_EQ(shared.exit_code, 0) << shared.errors;
  EXPECT_NEAR(Json::parse(shared.output)["val_loss"].get<double>(), loss, 1e-5 * loss);
  // Each rank sees a part of the activations, and rounds all weights.
  const std::vector<std::string> more = {DASHLM_BINARY, "eval",       out(), "--json",
                                         "--outliers",  "--quantize", "int4"};
  std::vector<std::string> on_ranks = {"-n", "3"};
  on_ranks.insert(on_ranks.end(), more.begin(), more.end());
  const Json alone = Json::parse(run(more).output), ranks = Json::parse(mpirun(on_ranks).output);
  EXPECT_EQ(alone["quantized"]["relative_error"], ranks["quantized"]["relative_error"]);
  EXPECT_NEAR(alone["quantized"]["val_loss"].get<double>(),
              ranks["quantized"]["val_loss"].get<double>(), 1e-5 * loss);
  EXPECT_EQ(alone["outliers"]["tokens"], ranks["outliers"]["tokens"]);
  const Json sites = alone["outliers"]["activations"], others = ranks["outliers"]["activations"];
  ASSERT_EQ(sites.size(), others.size());
  for (size_t i = 0; i < sites.size(); ++i) {
    EXPECT_EQ(sites[i]["values"], others[i]["values"]);
    for (const char* key : {"kurtosis", "max_over_rms", "beyond_6_sigma"}) {
      const double value = sites[i][key];
      EXPECT_NEAR(others[i][key].get<double>(), value, 1e-5 * value) << key << " " << sites[i];
    }
  }
  // What transformers goes by: each tensor in the part it names.
  const std::string folder = "run/checkpoints/step_00000024/";
  const Json index = Json::parse(read_file(folder + "model.safetensors.index.json"));
  EXPECT_EQ(index["weight_map"].size(), 2u * 9 + 3);
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    EXPECT_NE(read_file(folder + file.get<std::string>()).find("\"" + tensor + "\""),
              std::string::npos);
  }
}

// Tensors that nobody wants, or that somebody lacks, are named, on one rank and on several.
TEST_F(RankRestore, OtherTensorsThanExpectedAreNamed) {
  ASSERT_EQ(train_ranks(2, out()).exit_code, 0);
  for (const bool several : {false, true}) {
    const auto resume = [&](const std::string& setting) {
      const std::vector<std::string> extra = {"--resume", "--set", setting};
      return several ? train_ranks(3, out(), extra) : train(extra);
    };
    const ProcessResult extra = resume("optimizer.momentum=0");
    EXPECT_EQ(extra.exit_code, 1);
    EXPECT_NE(extra.errors.find("unexpected tensor \"velocity of "), std::string::npos)
        << extra.errors;
    const ProcessResult missing = resume("optimizer.block_size=8");
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_NE(missing.errors.find("there is no tensor \""), std::string::npos) << missing.errors;
  }
  fs::remove(path("run/checkpoints/step_00000024/optimizer-00002-of-00002.safetensors"));
  const ProcessResult damaged = train_ranks(2, out(), {"--resume"});
  EXPECT_EQ(damaged.exit_code, 0);
  EXPECT_NE(damaged.errors.find("optimizer-00002-of-00002"), std::string::npos);
  EXPECT_NE(damaged.errors.find("resuming after step 20"), std::string::npos);
}

// Thirty times a rank is killed at some moment, while saving as likely as not. Each time the job
// ends soon; it goes on from where it was, and ends like a run that nobody disturbed.
TEST_F(RankRestore, AnyRankMayBeKilledAtAnyMoment) {
  constexpr int kKills = 30;
  Json config = Json::parse(read_file("config.json"));
  config["train"]["steps"] = 200;
  config["checkpoint"]["every"] = 2;
  config["eval"]["every"] = 7;
  write_config(config);
  ASSERT_EQ(train_ranks(3, path("whole")).exit_code, 0);
  const CounterRandom random(17, Purpose::test);
  int kills = 0, stuck = 0;
  for (uint64_t i = 0; kills < kKills; ++i) {
    ASSERT_LT(i, 200u);
    std::vector<std::string> command = {DASHLM_MPIRUN, "--oversubscribe", "--bind-to", "none"};
    for (const std::string& word : ranks_command(3, out(), {"--resume-or-start"})) {
      command.push_back(word);
    }
    Process job(command, allow_root);
    const auto delay = std::chrono::milliseconds(300 + static_cast<int>(random.below(600, 2 * i)));
    std::this_thread::sleep_for(delay);
    const std::vector<pid_t> ranks = rank_processes(job.pid());
    if (!ranks.empty()) kill(ranks[random.below(ranks.size(), 2 * i + 1)], SIGKILL);
    stuck += wait_for_end(job) ? 0 : 1;
    const ProcessResult result = job.wait();
    if (result.exit_code != 0) {
      ++kills;
      EXPECT_EQ(result.errors.find("damaged"), std::string::npos) << result.errors;
      continue;
    }
    // It was done before the kill: as good as the undisturbed one; another begins.
    EXPECT_EQ(losses(out()), losses(path("whole")));
    fs::remove_all(out());
  }
  EXPECT_LE(stuck, 2) << "more often than Open MPI is known to do it";
  const ProcessResult last = train_ranks(3, out(), {"--resume-or-start"});
  ASSERT_EQ(last.exit_code, 0) << last.errors;
  EXPECT_EQ(losses(out()), losses(path("whole")));
}

}  // namespace
}  // namespace dashlm::testing
