// An update takes as long as its slowest rank: a time of its own on each rank, the same answer on
// all of them.
#include <gtest/gtest.h>

#include "train/update_measure.h"
#include "unit/dist/ranks/world.h"

namespace dashlm::testing {
namespace {

UpdateMeasure update_of(double roots_ms, double flops = 0) {
  return {.times = {.pack = 1, .roots = roots_ms}, .flops = flops, .machine = 1e9};
}

TEST(UpdateMeasure, OfTheSlowestRankUpdateByUpdate) {
  const int own = world().rank(), last = world().size() - 1;
  // The last rank is the slowest in the first update, rank 0 in the second.
  const std::vector<UpdateMeasure> updates = of_slowest_ranks(
      world(), {update_of(10.0 + own, 100 + own), update_of(50.0 - own, 200 + own)});
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].times.roots, 10 + last);
  EXPECT_EQ(updates[0].flops, 100 + last) << "all figures are those of one rank";
  EXPECT_EQ(updates[1].times.roots, 50);
  EXPECT_EQ(updates[1].flops, 200);
}

}  // namespace
}  // namespace dashlm::testing
