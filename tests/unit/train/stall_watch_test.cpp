// When waiting for other ranks has lasted too long.
#include "train/stall_watch.h"

#include <gtest/gtest.h>

namespace dashlm::testing {
namespace {

TEST(Patience, EndsAfterItsTimeWithoutProgress) {
  Patience patience(10);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(patience.wait(1)) << i;
  EXPECT_TRUE(patience.wait(1));
}

TEST(Patience, BeginsAnewWithEachProgress) {
  Patience patience(10);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(patience.wait(9));
    patience.progress();
  }
}

// A validation batch of two minutes is no reason to give up after one, once one has been seen.
TEST(Patience, IsTenTimesTheLongestWaitThatWasWorthIt) {
  Patience patience(60);
  EXPECT_FALSE(patience.wait(50));
  patience.progress();
  EXPECT_FALSE(patience.wait(500));
  patience.progress();
  EXPECT_FALSE(patience.wait(4999));
  EXPECT_TRUE(patience.wait(2));
}

// One process has nobody to wait for, and need not be watched.
TEST(StallWatch, LeavesASingleProcessAlone) {
  LoneCommunicator alone;
  StallWatch watch(alone, 1e-9);
  watch.start();
  watch.enter("the update", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace dashlm::testing
