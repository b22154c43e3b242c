// Processors that a process may use, by its control groups; and threads that are more than those.
#include "device/processors.h"

#include <gmock/gmock.h>

#include <fstream>

#include "device/unused_gpu.h"
#include "support/temp_folder.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

using ::testing::HasSubstr;

class FakeRoot : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(root() + name).parent_path());
    std::ofstream(root() + name) << content;
  }
  std::string root() const { return folder_ / "root"; }

  TempFolder folder_;
};

using ControlGroups = FakeRoot;

TEST_F(ControlGroups, WithoutALimitThereIsNone) {
  EXPECT_EQ(processors_paid_for(root()), 0);
  write("/proc/self/cgroup", "0::/user.slice\n");
  write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(processors_paid_for(root()), 0);
}

TEST_F(ControlGroups, TheLeastOfAllAroundTheProcessHolds) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(processors_paid_for(root()), 2);
}

TEST_F(ControlGroups, AContainerSeesItsOwnAtTheTop) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(processors_paid_for(root()), 3);
}

TEST_F(ControlGroups, TheFirstVersionHasTwoFiles) {
  write("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors_paid_for(root()), 1);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(processors_paid_for(root()), 0);
}

ThreadUse use(const std::string& node, const std::string& group, int threads,
              const std::vector<int>& allowed, int paid_for = 0) {
  return {node, group, threads, allowed, paid_for};
}

TEST(CrowdedThreads, AsManyAsProcessorsAreNone) {
  EXPECT_EQ(warning_of_threads({use("n", "g", 4, {0, 1, 2, 3})}), "");
  EXPECT_EQ(warning_of_threads({use("n", "g", 2, {0, 1}), use("n", "g", 2, {2, 3})}), "");
  EXPECT_EQ(warning_of_threads({use("n", "g", 2, {0, 1}), use("m", "g", 2, {0, 1})}), "");
}

TEST(CrowdedThreads, OfOneRankOfAGroupAndOfANodeAreNamedWithBothNumbers) {
  EXPECT_THAT(warning_of_threads({use("n", "g", 8, {0, 1, 2})}),
              HasSubstr("this process has 8 threads, but may use 3 processors"));
  EXPECT_THAT(warning_of_threads({use("n", "g", 8, {0, 1, 2, 3, 4, 5, 6, 7}, 1)}),
              HasSubstr("8 threads, but may use 1 processor:"));
  EXPECT_THAT(warning_of_threads({use("n", "g", 1, {0}), use("m", "g", 4, {1, 2})}),
              HasSubstr("rank 1 has 4 threads, but may use 2 processors"));
  const std::vector<int> four = {0, 1, 2, 3};
  const std::string node = warning_of_threads({use("n", "g", 4, four), use("n", "h", 2, four)});
  EXPECT_THAT(node, HasSubstr("the 2 ranks of a node have 6 threads, but may use 4 processors"));
  EXPECT_THAT(node, HasSubstr("OMP_NUM_THREADS to 2"));
  EXPECT_THAT(warning_of_threads({use("n", "g", 2, four, 2), use("n", "g", 2, four, 2)}),
              HasSubstr("the 2 ranks of a control group have 4 threads, but may use 2 processors"));
}

using UnusedGpus = FakeRoot;

TEST_F(UnusedGpus, AreSeenByTheirDriver) {
  write("/dev/nvidiactl", "");
  fs::create_directories(root() + "/proc/driver/nvidia/gpus");
  EXPECT_FALSE(machine_has_nvidia_gpu(root()));
  fs::create_directories(root() + "/proc/driver/nvidia/gpus/0000:01:00.0");
  EXPECT_TRUE(machine_has_nvidia_gpu(root()));
  fs::remove_all(root() + "/proc");
  EXPECT_FALSE(machine_has_nvidia_gpu(root()));
  write("/dev/nvidia0", "");
  EXPECT_TRUE(machine_has_nvidia_gpu(root()));
  EXPECT_NE(why_no_gpu_answers(), "");
}

}  // namespace
}  // namespace dashlm::testing
