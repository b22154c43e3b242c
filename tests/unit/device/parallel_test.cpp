#include "device/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

namespace dashlm::cpu {
namespace {

// Runs with one, a few and more threads than this machine has.
class Parallel : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { omp_set_num_threads(GetParam()); }
  void TearDown() override { omp_set_num_threads(before_); }
  int before_ = omp_get_max_threads();
};

TEST_P(Parallel, EveryItemOnce) {
  EXPECT_EQ(max_threads(), GetParam());
  for (const int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
    parallel_for(count, [&](int64_t i) { ++calls.at(static_cast<size_t>(i)); });
    for (const auto& c : calls) EXPECT_EQ(c, 1);
  }
}

TEST_P(Parallel, RangesCoverEverythingAndKeepTheirGrain) {
  for (const int64_t count : {0, 1, 9, 10, 11, 999, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
    std::mutex mutex;
    std::set<int64_t> begins;
    parallel_ranges(count, 10, [&](int64_t begin, int64_t end) {
      EXPECT_LT(begin, end);
      EXPECT_LE(end - begin, 10);
      for (int64_t i = begin; i < end; ++i) ++calls.at(static_cast<size_t>(i));
      const std::lock_guard<std::mutex> lock(mutex);
      begins.insert(begin);
    });
    for (const auto& c : calls) EXPECT_EQ(c, 1);
    // The cut depends on the count alone: that is what makes results independent of threads.
    EXPECT_EQ(begins.size(), static_cast<size_t>((count + 9) / 10));
    for (const int64_t begin : begins) EXPECT_EQ(begin % 10, 0);
  }
}

TEST_P(Parallel, AnExceptionReachesTheCaller) {
  for (const int64_t count : {1, 2, 100}) {
    std::atomic<int> calls = 0;
    try {
      parallel_for(count, [&](int64_t i) {
        ++calls;
        if (i == count - 1) throw std::runtime_error("item " + std::to_string(i));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), "item " + std::to_string(count - 1));
    }
    EXPECT_EQ(calls, count);
  }
}

TEST_P(Parallel, ManyExceptionsBecomeOne) {
  EXPECT_THROW(parallel_for(1000, [](int64_t) { throw std::logic_error("each"); }),
               std::logic_error);
  std::atomic<int> calls = 0;  // and the next loop is as good as new
  parallel_for(10, [&](int64_t) { ++calls; });
  EXPECT_EQ(calls, 10);
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace dashlm::cpu
