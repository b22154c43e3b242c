#include "device/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/expect_error.h"

#ifdef __SANITIZE_ADDRESS__
// A refusal of memory is what one of these tests is about, not a reason to abort.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif

namespace dashlm {
namespace {

using testing::expect_bad_input;
using testing::expect_runtime_failure;

TEST(OpenDevice, CpuAndAuto) {
  EXPECT_EQ(open_device("cpu")->kind(), DeviceKind::cpu);
  EXPECT_NE(open_device("auto"), nullptr);
  EXPECT_NE(open_device("cpu", 1)->description().find("1 thread"), std::string::npos);
  EXPECT_EQ(open_device("cpu", 1)->description().find("1 threads"), std::string::npos);
  EXPECT_NE(open_device("cpu", 3)->description().find("3 threads"), std::string::npos);
}

TEST(OpenDevice, UnknownNamesAreErrors) {
  for (const char* name : {"", "gpu", "CPU", "cuda:0"}) {
    expect_bad_input({fmt::format("\"{}\"", name), "\"auto\"", "\"cpu\""},
                     [&] { open_device(name); });
  }
}

class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~EnvironmentVariable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(OpenDevice, NumberOfThreadsMayComeFromTheEnvironment) {
  const EnvironmentVariable variable("OMP_NUM_THREADS", "3");
  EXPECT_NE(open_device("cpu")->description().find("3 threads"), std::string::npos);
  EXPECT_NE(open_device("cpu", 2)->description().find("2 threads"), std::string::npos);
}

class CpuDeviceTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<char>(i * 7 + i / 256 + 1);
  }
  bool all_zero(const void* memory, int64_t bytes) const {
    std::vector<char> back(static_cast<size_t>(bytes), '#');
    device_->download(back.data(), memory, bytes);
    return back == std::vector<char>(static_cast<size_t>(bytes), 0);
  }

  std::unique_ptr<Device> device_ = open_device("cpu", 3);
  int64_t bytes_ = GetParam();
  std::vector<char> host_ = std::vector<char>(static_cast<size_t>(bytes_));
};

TEST_P(CpuDeviceTest, MemoryIsAlignedAndZero) {
  // Twice, so that the second is likely to get what the first has used.
  for (int i = 0; i < 2; ++i) {
    void* memory = device_->allocate(bytes_);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    EXPECT_TRUE(all_zero(memory, bytes_));
    if (bytes_ > 0) std::memset(memory, 0x5A, static_cast<size_t>(bytes_));
    device_->release(memory);
  }
}

TEST_P(CpuDeviceTest, UploadCopyDownloadAndClear) {
  void* a = device_->allocate(bytes_);
  void* b = device_->allocate(bytes_);
  device_->upload(a, host_.data(), bytes_);
  device_->copy(b, a, bytes_);
  device_->clear(a, bytes_);
  device_->synchronize();
  std::vector<char> back(host_.size());
  device_->download(back.data(), b, bytes_);
  EXPECT_TRUE(back == host_);
  EXPECT_TRUE(all_zero(a, bytes_));
  device_->release(a);
  device_->release(b);
}

TEST_P(CpuDeviceTest, ClearStopsWhereItShould) {
  if (bytes_ < 3) return;
  void* memory = device_->allocate(bytes_);
  device_->upload(memory, host_.data(), bytes_);
  device_->clear(static_cast<char*>(memory) + 1, bytes_ - 2);
  EXPECT_TRUE(all_zero(static_cast<char*>(memory) + 1, bytes_ - 2));
  EXPECT_EQ(static_cast<char*>(memory)[0], host_.front());
  EXPECT_EQ(static_cast<char*>(memory)[bytes_ - 1], host_.back());
  device_->release(memory);
}

// Around the size that one thread moves at once.
INSTANTIATE_TEST_SUITE_P(Bytes, CpuDeviceTest,
                         ::testing::Values(0, 1, 63, 64, 65, (1 << 18) - 1, 1 << 18, (1 << 18) + 1,
                                           (5 << 18) + 12345));

TEST(CpuDevice, RefusesWhatItDoesNotHave) {
  const auto device = open_device("cpu", 1);
  const int64_t bytes = int64_t{1} << 60;
  expect_runtime_failure({"out of memory", std::to_string(bytes)},
                         [&] { device->allocate(bytes); });
  expect_runtime_failure({"-1"}, [&] { device->allocate(-1); });
}

}  // namespace
}  // namespace dashlm
