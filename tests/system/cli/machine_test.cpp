// What a run says at its start about the machine that it finds.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MachineTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    if (DASHLM_TEST_DEVICE != std::string("cpu")) GTEST_SKIP() << "about runs on a CPU";
  }
};

// A driver that shows a GPU, in a name space where /proc/driver is our own.
TEST_F(MachineTest, AGpuThatIsLeftIdleIsNamed) {
  const auto with_gpu = [&](const std::string& device) {
    std::vector<std::string> command = {
        "/bin/sh", "-c",
        "exec unshare -r -m sh -c 'mount -t tmpfs none /proc/driver && "
        "mkdir -p /proc/driver/nvidia/gpus/0 && exec \"$0\" \"$@\"' \"$0\" \"$@\""};
    for (const std::string& word : train_command(
             {"--out", path(device), "--set", "train.steps=1", "--set", "device=" + device})) {
      command.push_back(word);
    }
    return testing::run(command);
  };
  const ProcessResult chosen = with_gpu("cpu");
  if (chosen.exit_code != 0) GTEST_SKIP() << "no name spaces here: " << chosen.errors;
  EXPECT_THAT(chosen.errors, Not(HasSubstr("NVIDIA")));
  const ProcessResult left = with_gpu("auto");
  EXPECT_EQ(left.exit_code, 0) << left.errors;
  EXPECT_THAT(left.errors, HasSubstr("COMPUTING ON THE CPU, although this machine has an NVIDIA"));
}

TEST_F(MachineTest, MoreThreadsThanProcessorsAreNamed) {
  const std::string many = std::to_string(sysconf(_SC_NPROCESSORS_ONLN) + 1);
  const std::string warning = "this process has " + many + " threads, but may use ";
  const ProcessResult by_key =
      train({"--out", path("1"), "--set", "train.steps=1", "--set", "threads=" + many});
  EXPECT_EQ(by_key.exit_code, 0) << by_key.errors;
  EXPECT_THAT(by_key.errors, HasSubstr(warning));
  const ProcessResult by_variable = testing::run(
      train_command({"--out", path("2"), "--set", "train.steps=1", "--set", "threads=0"}),
      [&] { setenv("OMP_NUM_THREADS", many.c_str(), 1); });
  EXPECT_THAT(by_variable.errors, HasSubstr(warning));
  // By itself it takes no more than there are.
  const ProcessResult by_itself = testing::run(
      train_command({"--out", path("3"), "--set", "train.steps=1", "--set", "threads=0"}),
      [] { unsetenv("OMP_NUM_THREADS"); });
  EXPECT_THAT(by_itself.errors, Not(HasSubstr("threads, but may use")));
}

}  // namespace
}  // namespace dashlm::testing
