// Ranks that are stopped, or told to stop while they validate.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/timer.h"
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace {

class StoppedRanks : public RanksTest {
 protected:
  static std::vector<std::string> mpirun_command(const std::vector<std::string>& ranks) {
    std::vector<std::string> command = {DASHLM_MPIRUN, "--oversubscribe", "--bind-to", "none"};
    command.insert(command.end(), ranks.begin(), ranks.end());
    return command;
  }
  // The ranks of a job that is so far, in the order of their process numbers; so of ranks too.
  static std::vector<pid_t> ranks_once(Process& job, const std::function<bool()>& ready) {
    while (job.running() && !ready()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<pid_t> ranks = rank_processes(job.pid());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }
  // Fails unless it ends within a minute.
  static ProcessResult end_of(Process& job) {
    const Timer timer;
    while (job.running() && timer.seconds() < 60) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (job.running()) {
      ADD_FAILURE() << "still running after a minute";
      for (const pid_t rank : rank_processes(job.pid())) kill(rank, SIGKILL);
      job.signal(SIGKILL);
    }
    return job.wait();
  }
  void make_validation_long() {
    write_tokens("val.bin", 800000, 4);
    Json config = Json::parse(read_file("config.json"));
    config["train"]["steps"] = 8;
    config["eval"] = {{"every", 6}, {"batches", 0}};
    config["checkpoint"]["every"] = 0;
    write_config(config);
  }
};

TEST_F(StoppedRanks, AreNotWaitedForForEver) {
  const std::vector<std::string> set = {
      "--set", "train.steps=1000000", "--set",  "train.stall_minutes=0.05",
      "--set", "checkpoint.every=3",  "--quiet"};
  Process job(mpirun_command(ranks_command(2, out(), set)), allow_root);
  const std::vector<pid_t> ranks =
      ranks_once(job, [&] { return metrics(out(), "train").size() >= 4; });
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGSTOP);
  const ProcessResult result = end_of(job);
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  for (const std::string& words :
       {std::string("[rank 0]"), std::string("no progress for"),
        std::string("train.stall_minutes = 0.05"),
        "rank 1 (process " + std::to_string(ranks[1]) + ") is stopped", std::string("--resume")}) {
    EXPECT_NE(result.errors.find(words), std::string::npos) << words << "\n" << result.errors;
  }
  ASSERT_FALSE(checkpoints(out()).empty());
  const int64_t step = std::stoll(checkpoints(out()).back().substr(5));
  const ProcessResult resumed =
      train_ranks(2, out(), {"--resume", "--set", "train.steps=" + std::to_string(step + 2)});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
}

// One rank gets the signal, and all leave the validation, which the resumed run makes up.
TEST_F(StoppedRanks, LeaveAValidationTogether) {
  make_validation_long();
  ASSERT_EQ(train_ranks(2, path("whole")).exit_code, 0);
  Process job(mpirun_command(ranks_command(2, out())), allow_root);
  const std::vector<pid_t> ranks =
      ranks_once(job, [&] { return metrics(out(), "train").size() >= 6; });
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGUSR1);
  const ProcessResult result = end_of(job);
  EXPECT_EQ(result.exit_code, 128 + SIGUSR1) << result.errors;
  EXPECT_EQ(metrics(out(), "eval").size(), 0u) << "they waited for the end";
  EXPECT_EQ(checkpoints(out()), std::vector<std::string>{"step_00000006"});
  ASSERT_EQ(train_ranks(2, out(), {"--resume"}).exit_code, 0);
  EXPECT_EQ(losses(out()), losses(path("whole")));
  for (const char* kind : {"eval", "final"}) {
    const auto got = metrics(out(), kind), wanted = metrics(path("whole"), kind);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i]["val_loss"], wanted[i]["val_loss"]);
  }
}

// Ranks of `eval` take a signal to one of them as the end of all.
TEST_F(StoppedRanks, OfEvalLeaveTogether) {
  ASSERT_EQ(train({"--set", "train.steps=2"}).exit_code, 0);
  write_tokens("long.bin", 20000000, 4);
  Process job(mpirun_command({"-n", "2", DASHLM_BINARY, "eval", out(), "--data", path("long.bin"),
                              "--threads", "1"}),
              allow_root);
  const std::vector<pid_t> ranks =
      ranks_once(job, [&] { return rank_processes(job.pid()).size() == 2; });
  ASSERT_EQ(ranks.size(), 2u);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // from exec to the first batch
  kill(ranks[1], SIGTERM);
  const ProcessResult result = end_of(job);
  EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.errors;
  EXPECT_EQ(result.output, "");
}

}  // namespace
}  // namespace dashlm::testing
