#include "train/recorded_factors.h"

#include <gtest/gtest.h>

namespace dashlm::testing {
namespace {

using Counts = std::vector<int64_t>;

TEST(EqualShares, GiveEveryGroupAsManyAsItHas) {
  EXPECT_EQ(equal_shares({4, 4, 4}, 6), (Counts{2, 2, 2}));
  EXPECT_EQ(equal_shares({1, 9, 2}, 9), (Counts{1, 6, 2}));
  EXPECT_EQ(equal_shares({1, 2}, 100), (Counts{1, 2}));
  EXPECT_EQ(equal_shares({}, 3), Counts{});
}

TEST(EqualShares, SpreadWhatIsNotEnoughForAll) {
  EXPECT_EQ(equal_shares({5, 5, 5, 5, 5, 5}, 3), (Counts{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(equal_shares({2, 2, 2, 2}, 6), (Counts{2, 1, 2, 1}));
}

}  // namespace
}  // namespace dashlm::testing
