// What goes wrong on one rank ends the whole job, promptly and with that rank's message.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/timer.h"
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++found;
  return found;
}

class RankFailures : public RanksTest {
 protected:
  // One command line for rank 0 and another one for rank 1.
  ProcessResult train_pair(const std::vector<std::string>& zero,
                           const std::vector<std::string>& one) const {
    std::vector<std::string> command = ranks_command(1, out(), zero);
    command.push_back(":");
    for (const std::string& word : ranks_command(1, out(), one)) command.push_back(word);
    const Timer timer;
    ProcessResult result = mpirun(command);
    EXPECT_LT(timer.seconds(), 30.0);
    return result;
  }
};

TEST_F(RankFailures, RanksThatDisagreeSaySo) {
  const ProcessResult rate = train_pair({}, {"--set", "train.lr=0.5"});
  EXPECT_EQ(rate.exit_code, 1) << rate.errors;
  EXPECT_EQ(count(rate.errors, "rank 1 disagrees with rank 0: config.train.lr is 0.5 there"), 1u)
      << rate.errors;
  EXPECT_FALSE(fs::exists(out() + "/config.json")) << "nothing was started";

  // The same names, another content.
  fs::create_directories(path("a"));
  fs::create_directories(path("b"));
  fs::copy(path("train_0.bin"), path("a/t.bin"));
  fs::copy(path("train_1.bin"), path("b/t.bin"));
  const ProcessResult data = train_pair({"--set", "data.train=" + path("a/t.bin")},
                                        {"--set", "data.train=" + path("b/t.bin")});
  EXPECT_EQ(data.exit_code, 1);
  EXPECT_NE(data.errors.find("data.train"), std::string::npos) << data.errors;
  const ProcessResult validation = train_pair({}, {"--set", "data.val=" + path("train_0.bin")});
  EXPECT_EQ(validation.exit_code, 1);
  EXPECT_NE(validation.errors.find("data.val"), std::string::npos) << validation.errors;
}

// The same relative path on two file systems: here, seen from two working directories.
TEST_F(RankFailures, ARunDirectoryThatIsNotSharedIsNoticedAtTheStart) {
  std::vector<std::string> command;
  for (const char* folder : {"here", "there"}) {
    fs::create_directories(path(folder));
    if (!command.empty()) command.push_back(":");
    command.insert(command.end(),
                   {"-n", "1", "-wdir", path(folder), DASHLM_BINARY, "train", path("config.json"),
                    "--out", "/proc/self/cwd/run"});  // one name for two folders
  }
  const ProcessResult result = mpirun(command);
  EXPECT_EQ(result.exit_code, 1) << result.errors;
  EXPECT_NE(result.errors.find("[rank 1]"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("share the file system"), std::string::npos) << result.errors;
}

// Ranks of `eval` that were not told the same thing do not mix what they find.
TEST_F(RankFailures, EvalOfDifferentThingsIsRefused) {
  ASSERT_EQ(train({"--out", out()}).exit_code, 0);
  const std::string older = out() + "/checkpoints/step_00000015";
  const ProcessResult result = mpirun(
      {"-n", "1", DASHLM_BINARY, "eval", out(), ":", "-n", "1", DASHLM_BINARY, "eval", older});
  EXPECT_EQ(result.exit_code, 1) << result.errors;
  EXPECT_NE(result.errors.find("rank 1 disagrees with rank 0: PATH"), std::string::npos)
      << result.errors;
}

TEST_F(RankFailures, ACommonMistakeIsReportedOnceAndOneRanksMistakeWithItsName) {
  const ProcessResult common = train_ranks(4, out(), {"--set", "model.n_layers=3"});
  EXPECT_EQ(common.exit_code, 1);
  EXPECT_EQ(count(common.errors, "unknown key"), 1u) << common.errors;
  EXPECT_NE(common.errors.find("[rank 0]"), std::string::npos) << common.errors;

  const ProcessResult single = train_pair({}, {"--set", "data.train=" + path("absent.bin")});
  EXPECT_EQ(single.exit_code, 1);
  EXPECT_NE(single.errors.find("[rank 1]"), std::string::npos) << single.errors;
  EXPECT_NE(single.errors.find("absent.bin"), std::string::npos) << single.errors;
}

TEST_F(RankFailures, DivergenceEndsAllRanksWithItsExitCode) {
  // Embeddings of zero without an epsilon: their norm is 0/0.
  const ProcessResult result =
      train_ranks(3, out(),
                  {"--set", "model.init_std=0", "--set", "model.norm_eps=0", "--set",
                   "train.max_skipped_steps=2"});
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_EQ(count(result.errors, "diverged"), 1u) << result.errors;
  ASSERT_EQ(metrics(out(), "final").size(), 1u);
  EXPECT_EQ(metrics(out(), "final")[0]["diverged"], true);
}

// A bad token in a shard that only some step, on some rank, reads.
TEST_F(RankFailures, ABadFileIsNamedByTheRankThatReadIt) {
  std::string tokens = read_file("train_1.bin");
  tokens[401] = 0x7f;
  write_file("train_1.bin", tokens);
  const Timer timer;
  const ProcessResult result = train_ranks(3, out());
  EXPECT_LT(timer.seconds(), 30.0);
  EXPECT_EQ(result.exit_code, 1) << result.errors;
  EXPECT_NE(result.errors.find("train_1.bin"), std::string::npos) << result.errors;
}

// A limit on file sizes stands for a full disk.
TEST_F(RankFailures, AFullDiskEndsTheJobAndLosesNothing) {
  ASSERT_EQ(train_ranks(2, out(), {"--set", "train.steps=10"}).exit_code, 0);
  const auto before = checkpoints(out());
  std::string limited = "trap '' XFSZ; ulimit -f 20; exec";  // of rank 1 only
  for (const std::string& word : train_command({"--resume"})) limited += " '" + word + "'";
  std::vector<std::string> command = ranks_command(1, out(), {"--resume"});
  command.insert(command.begin(), {"--mca", "btl", "self,tcp"});  // no files of MPI's own
  command.insert(command.end(), {":", "-n", "1", "/bin/sh", "-c", limited});
  const Timer timer;
  const ProcessResult result = mpirun(command);
  EXPECT_LT(timer.seconds(), 30.0);
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_NE(result.errors.find("[rank 1]"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("safetensors"), std::string::npos) << result.errors;
  EXPECT_EQ(checkpoints(out()), before);
  ASSERT_EQ(train_ranks(2, out(), {"--resume"}).exit_code, 0);
}

TEST_F(RankFailures, SignalsToMpirunWriteACheckpoint) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    fs::remove_all(out());
    // Time enough for a busy machine between SIGTERM and SIGKILL. Meanwhile mpirun sleeps: it takes
    // no output, so hundreds of lines a second would block a rank.
    std::vector<std::string> command = {
        DASHLM_MPIRUN, "--oversubscribe",           "--bind-to", "none",
        "--mca",       "odls_base_sigkill_timeout", "4"};
    for (const std::string& word :
         ranks_command(3, out(),
                       {"--set", "train.steps=100000", "--set", "checkpoint.every=0", "--set",
                        "eval.every=0", "--quiet"})) {
      command.push_back(word);
    }
    Process job(command, allow_root);
    while (metrics(out(), "train").size() < 3 && job.running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const Timer timer;
    job.signal(signal);
    const ProcessResult result = job.wait();
    EXPECT_LT(timer.seconds(), 30.0);
    EXPECT_NE(result.exit_code, 0);
    ASSERT_EQ(checkpoints(out()).size(), 1u) << result.errors;
    EXPECT_NE(result.errors.find("stopped by signal"), std::string::npos) << result.errors;
    const int64_t step = std::stoll(checkpoints(out())[0].substr(5));
    const ProcessResult resumed =
        train_ranks(2, out(), {"--resume", "--set", "train.steps=" + std::to_string(step + 2)});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
    EXPECT_EQ(std::ssize(metrics(out(), "train")), step + 2);
  }
}

// Ranks notice a dead one by themselves, whatever their launcher does: here it hardly does
// anything.
class DeadRanks : public RankFailures {
 protected:
  // Kills one of three ranks once `ready` says so; the others must end, and say why.
  void expect_noticed(const std::vector<std::string>& set,
                      const std::function<bool(const Process&)>& ready) {
    std::vector<std::string> command = {
        DASHLM_MPIRUN, "--oversubscribe",           "--bind-to", "none",
        "--mca",       "odls_base_sigkill_timeout", "12"};
    for (const std::string& word : ranks_command(3, out(), set)) command.push_back(word);
    Process job(command, allow_root);
    while (!ready(job) && job.running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::vector<pid_t> ranks = rank_processes(job.pid());
    ASSERT_EQ(ranks.size(), 3u);
    const pid_t last = *std::max_element(ranks.begin(), ranks.end());
    kill(last, SIGKILL);
    const Timer timer;
    while (rank_processes(job.pid()).size() > 0 && timer.seconds() < 30) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_LT(timer.seconds(), 11.0) << "only mpirun's own signal ended them";
    const ProcessResult result = job.wait();
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.errors.find("rank 2 (process " + std::to_string(last) + ") has ended"),
              std::string::npos)
        << result.errors;
  }
};

TEST_F(DeadRanks, AreNoticedByThoseThatWaitForThem) {
  expect_noticed({"--set", "train.steps=1000000", "--set", "checkpoint.every=0"},
                 [&](const Process&) { return metrics(out(), "train").size() >= 3; });
}

// In the middle of a step so long that nobody waits for anybody.
TEST_F(DeadRanks, AreNoticedByThoseThatCompute) {
  expect_noticed({"--set", "train.batch=600000"}, [&](const Process& job) {
    const std::string log = fs::exists(out() + "/log.txt") ? read_file("run/log.txt") : "";
    if (log.find("training tokens in") == std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return rank_processes(job.pid()).size() == 3;
  });
}

TEST_F(RankFailures, LaunchersThatCannotServeAreRefused) {
  const auto train_with = [&](const std::string& variable, const std::string& value) {
    return testing::run(train_command(), [&] { setenv(variable.c_str(), value.c_str(), 1); });
  };
  const ProcessResult torchrun = train_with("WORLD_SIZE", "4");
  EXPECT_EQ(torchrun.exit_code, 1);
  EXPECT_NE(torchrun.errors.find("mpirun -n 4"), std::string::npos) << torchrun.errors;
  const ProcessResult slurm = train_with("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(slurm.exit_code, 1);
  EXPECT_NE(slurm.errors.find("--mpi=pmix"), std::string::npos) << slurm.errors;
  // One task of Slurm, and the script of sbatch itself, are single processes.
  EXPECT_EQ(train_with("SLURM_STEP_NUM_TASKS", "1").exit_code, 0);
}

// MPICH and its kin, Flux, JSM, PALS: by the number of processes, or by a place after the first.
TEST_F(RankFailures, LaunchersThatThisMpiDoesNotKnowAreRefused) {
  using Environment = std::vector<std::pair<std::string, std::string>>;
  const auto train_with = [&](const Environment& environment) {
    return testing::run(train_command(), [&] {
      for (const auto& pair : environment) setenv(pair.first.c_str(), pair.second.c_str(), 1);
    });
  };
  const std::vector<Environment> several = {
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}},
      {{"PMI_RANK", "2"}},
      {{"MV2_COMM_WORLD_RANK", "0"}, {"MV2_COMM_WORLD_SIZE", "4"}},
      {{"MVP_COMM_WORLD_SIZE", "4"}},
      {{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "4"}},
      {{"JSM_NAMESPACE_RANK", "0"}, {"JSM_NAMESPACE_SIZE", "4"}},
      {{"PALS_RANKID", "3"}},
      {{"PALS_RANKID", "0"}, {"PALS_LOCAL_SIZE", "4"}},
      {{"ALPS_APP_PE", "1"}},
  };
  for (const Environment& environment : several) {
    const ProcessResult result = train_with(environment);
    EXPECT_EQ(result.exit_code, 1) << environment[0].first;
    EXPECT_NE(result.errors.find("each sees itself alone"), std::string::npos) << result.errors;
    EXPECT_FALSE(fs::exists(out() + "/metrics.jsonl"));
  }
  // One process is no crowd, whoever starts it.
  EXPECT_EQ(train_with({{"PMI_RANK", "0"},
                        {"PMI_SIZE", "1"},
                        {"FLUX_TASK_RANK", "0"},
                        {"FLUX_JOB_SIZE", "1"},
                        {"PALS_RANKID", "0"}})
                .exit_code,
            0);
}

TEST_F(RankFailures, CommandsForOneProcessSaySo) {
  for (const char* command : {"generate", "tokenize", "plan", "config"}) {
    const ProcessResult result = mpirun({"-n", "2", DASHLM_BINARY, command});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.errors.find("one process"), std::string::npos) << result.errors;
  }
}

}  // namespace
}  // namespace dashlm::testing
