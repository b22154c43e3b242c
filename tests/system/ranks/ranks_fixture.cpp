#include "system/ranks/ranks_fixture.h"

#include <cmath>
#include <cstdlib>
#include <fstream>

namespace dashlm::testing {
namespace fs = std::filesystem;

void RanksTest::SetUp() {
  RunTest::SetUp();
  Json config = default_config();
  config["threads"] = 1;
  config["train"]["grad_clip"] = 0.5;
  config["train"]["compare_ranks_every"] = 1;
  write_config(config);
}

void RanksTest::allow_root() {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const char* options = std::getenv("ASAN_OPTIONS");  // Open MPI does not free everything
  setenv("ASAN_OPTIONS", (std::string(options ? options : "") + ":detect_leaks=0").c_str(), 1);
}

ProcessResult RanksTest::mpirun(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {DASHLM_MPIRUN, "--oversubscribe", "--bind-to", "none"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return testing::run(command, allow_root);
}

std::vector<std::string> RanksTest::ranks_command(int ranks, const std::string& out,
                                                  const std::vector<std::string>& extra) const {
  std::vector<std::string> command = {
      "-n", std::to_string(ranks), DASHLM_BINARY, "train", path("config.json"), "--out", out};
  command.insert(command.end(), extra.begin(), extra.end());
  return command;
}

ProcessResult RanksTest::train_ranks(int ranks, const std::string& out,
                                     const std::vector<std::string>& extra) const {
  return mpirun(ranks_command(ranks, out, extra));
}

std::vector<pid_t> RanksTest::rank_processes(pid_t mpirun) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string number, program, state;
    pid_t parent = 0;
    if (file >> number >> program >> state >> parent && parent == mpirun && program == "(dashlm)" &&
        state != "Z") {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

namespace {

void expect_close(const std::vector<Json>& got, const std::vector<Json>& wanted,
                  const std::vector<std::string>& keys, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_FALSE(got.empty());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["step"], wanted[i]["step"]);
    EXPECT_EQ(got[i]["tokens"], wanted[i]["tokens"]);
    for (const std::string& key : keys) {
      const double a = got[i][key], b = wanted[i][key];
      EXPECT_LE(std::abs(a - b), tolerance * std::abs(b)) << key << " of step " << got[i]["step"];
    }
  }
}

}  // namespace

void RanksTest::expect_losses_close(const std::string& run, const std::string& reference,
                                    double tolerance) {
  expect_close(metrics(run, "train"), metrics(reference, "train"), {"loss", "grad_norm", "lr"},
               tolerance);
}

void RanksTest::expect_same_curve(const std::string& run, const std::string& reference) const {
  expect_losses_close(run, reference);
  for (const char* kind : {"eval", "final"}) {
    expect_close(metrics(run, kind), metrics(reference, kind), {"val_loss"}, 1e-5);
  }
}

}  // namespace dashlm::testing
