// Ranks in user namespaces of their own, as rootless containers make them, and on two hosts.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/timer.h"
#include "dist/mpi/user_namespace.h"
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class Namespaces : public RanksTest {
 protected:
  static ProcessResult shell(const std::string& command) {
    return testing::run({"/bin/sh", "-c", command}, allow_root);
  }
};

class UserNamespaces : public Namespaces {
 protected:
  void SetUp() override {
    Namespaces::SetUp();
    if (shell("unshare -U -r true").exit_code != 0) {
      GTEST_SKIP() << "user namespaces are not permitted here";
    }
    // Messages large enough to be copied at once.
    Json config = Json::parse(read_file("config.json"));
    config["model"] = {{"n_layer", 1}, {"d_model", 256},     {"n_head", 4},
                       {"d_ff", 256},  {"vocab_size", 8192}, {"seq_len", 16}};
    config["train"]["steps"] = 3;
    config["eval"]["every"] = 0;
    write_config(config);
  }
  // Two ranks that `wrapper` starts; they get two minutes.
  ProcessResult train_in(const std::string& wrapper, const std::string& run) const {
    std::string command = "exec timeout -k 5 120 " DASHLM_MPIRUN " --oversubscribe --bind-to none";
    const std::vector<std::string> ranks = ranks_command(2, path(run));
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (i == 2) command += " " + wrapper;  // before the program, after -n 2
      command += " '" + ranks[i] + "'";
    }
    return shell(command);
  }
};

TEST_F(UserNamespaces, OfEachRankAreNoObstacle) {
  const ProcessResult plain = train_in("", "plain");
  ASSERT_EQ(plain.exit_code, 0) << plain.errors;
  int run = 0;
  for (const char* wrapper : {"unshare -U -r", "unshare -U -r sh -c '\"$0\" \"$@\"; exit $?'"}) {
    const std::string name = "run" + std::to_string(++run);
    const ProcessResult result = train_in(wrapper, name);
    EXPECT_EQ(result.exit_code, 0) << wrapper << "\n" << result.errors;
    EXPECT_EQ(losses(path(name)), losses(path("plain"))) << wrapper;
  }
}

// Processes as /proc shows them.
class UserNamespacesInProc : public ::testing::Test {
 protected:
  struct Shown {
    int process, parent;
    std::string name, user_namespace;  // "" if it cannot be seen
  };
  // The last is the process itself.
  bool own(const std::vector<Shown>& processes) const {
    RunFolder folder;
    for (const Shown& shown : processes) {
      const fs::path place = folder.path / std::to_string(shown.process);
      fs::create_directories(place / "ns");
      std::ofstream(place / "comm") << shown.name << "\n";
      std::ofstream(place / "status")
          << "Name:\t" << shown.name << "\nState:\tS (sleeping)\nPPid:\t" << shown.parent << "\n";
      if (!shown.user_namespace.empty()) {
        fs::create_symlink("user:[" + shown.user_namespace + "]", place / "ns" / "user");
      }
      fs::remove(folder.path / "self");
      fs::create_symlink(std::to_string(shown.process), folder.path / "self");
    }
    return has_user_namespace_of_its_own(folder.path.string());
  }

 private:
  struct RunFolder {
    std::string name = (fs::temp_directory_path() / "dashlm-proc-XXXXXX").string();
    fs::path path = mkdtemp(name.data());
    ~RunFolder() { fs::remove_all(path); }
  };
};

TEST_F(UserNamespacesInProc, AreComparedWithThatOfTheLauncher) {
  const std::string outermost = "4026531837";
  EXPECT_FALSE(own({{5, 1, "orted", outermost}, {6, 5, "dashlm", outermost}}));
  EXPECT_FALSE(own({{5, 1, "slurmstepd", ""}, {6, 5, "dashlm", outermost}}));
  EXPECT_FALSE(own({{5, 1, "mpirun", "77"}, {6, 5, "sh", "77"}, {7, 6, "dashlm", "77"}}));
  EXPECT_TRUE(own({{5, 1, "mpirun", outermost}, {6, 5, "dashlm", "77"}}));
  EXPECT_TRUE(own({{5, 1, "mpirun", ""}, {6, 5, "sh", "77"}, {7, 6, "dashlm", "77"}}));
  EXPECT_TRUE(own({{1, 0, "sh", "77"}, {2, 1, "dashlm", "77"}})) << "the launcher is outside";
  EXPECT_FALSE(own({{6, 5, "dashlm", ""}})) << "a system without user namespaces";
}

class TwoHosts : public Namespaces {
 protected:
  static constexpr const char* kScript = DASHLM_SOURCE_DIR "/tests/rank_runs/two_hosts.sh";

  void SetUp() override {
    Namespaces::SetUp();
    const ProcessResult possible = testing::run({kScript, "check"});
    if (possible.exit_code != 0) {
      GTEST_SKIP() << "no two hosts here: " << possible.output << possible.errors;
    }
  }
  ProcessResult train_on_two_hosts(std::vector<std::string> mode,
                                   const std::vector<std::string>& extra = {}) const {
    mode.insert(mode.begin(), kScript);
    mode.push_back(DASHLM_MPIRUN);
    const std::vector<std::string> ranks = ranks_command(2, out(), extra);
    mode.insert(mode.end(), ranks.begin() + 2, ranks.end());  // the script says how many
    return testing::run(mode, allow_root);
  }
};

TEST_F(TwoHosts, TrainAsOneDoes) {
  ASSERT_EQ(train_ranks(2, path("one")).exit_code, 0);
  const ProcessResult result = train_on_two_hosts({"run"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("2 ranks, 1 on this node"), std::string::npos) << result.errors;
  EXPECT_EQ(losses(out()), losses(path("one")));
  EXPECT_EQ(metrics(out(), "final")[0]["val_loss"], metrics(path("one"), "final")[0]["val_loss"]);
  const std::string part = "/checkpoints/step_00000024/optimizer-00002-of-00002.safetensors";
  EXPECT_EQ(read_file("run" + part), read_file("one" + part));
}

// A host that dies, and one that only the cable is pulled from: nobody says goodbye then, but
// mpirun asks in vain whether it is still there.
TEST_F(TwoHosts, AHostThatIsGoneEndsTheJob) {
  for (const char* mode : {"die", "unplug"}) {
    fs::remove_all(out());
    const Timer timer;
    const ProcessResult result = train_on_two_hosts({mode, out() + "/metrics.jsonl"},
                                                    {"--set", "train.steps=1000000", "--quiet"});
    EXPECT_NE(result.exit_code, 0) << mode;
    EXPECT_LT(timer.seconds(), 90.0) << mode << "\n" << result.errors;
    EXPECT_GE(metrics(out(), "train").size(), 3u) << mode << "\n" << result.errors;
  }
}

}  // namespace
}  // namespace dashlm::testing
