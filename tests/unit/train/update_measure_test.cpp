// What many updates come to: whole cycles, their means and their peaks.
#include "train/update_measure.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "train/peak_share.h"

namespace dashlm::testing {
namespace {

UpdateMeasure update_of(double ms, double flops) {
  return {.times = {.pack = ms / 2, .update = ms / 2}, .flops = flops, .machine = 1e9};
}

TEST(UpdateMeasure, OfEveryUpdateTheMedian) {
  const std::vector<UpdateMeasure> updates = {update_of(9, 0), update_of(1, 0), update_of(4, 0)};
  const UpdateCycle cycle = median_cycle(updates, 1);
  EXPECT_EQ(cycle.mean.times.total(), 4);
  EXPECT_EQ(cycle.peak_ms, 4);
}

// Two updates a cycle: means 6, 3 and 8; peaks 10, 5 and 8.
TEST(UpdateMeasure, OfCyclesTheMedianMeanAndPeak) {
  const std::vector<UpdateMeasure> updates = {update_of(2, 1e6), update_of(10, 8e6),
                                              update_of(1, 1e6), update_of(5, 8e6),
                                              update_of(8, 1e6), update_of(8, 8e6)};
  const UpdateCycle cycle = median_cycle(updates, 2);
  EXPECT_DOUBLE_EQ(cycle.mean.times.total(), 6);
  EXPECT_DOUBLE_EQ(cycle.mean.times.pack, 3);
  EXPECT_EQ(cycle.peak_ms, 8);
  // 9 MFLOP in 12 ms beside a machine of 1 GFLOP/s.
  EXPECT_DOUBLE_EQ(cycle.mean.share(), 0.75);
}

TEST(UpdateMeasure, TheMachinesRateCountsAsLongAsTheUpdateTook) {
  UpdateMeasure slow = update_of(30, 0), fast = update_of(10, 0);
  slow.machine = 1e9;
  fast.machine = 5e9;
  const std::vector<UpdateMeasure> updates = {slow, fast};
  EXPECT_DOUBLE_EQ(median_cycle(updates, 2).mean.machine, 2e9);
}

TEST(UpdateMeasure, OnlyWholeCycles) {
  const std::vector<UpdateMeasure> updates(3, update_of(1, 0));
  EXPECT_THROW(median_cycle(updates, 2), Error);
  EXPECT_THROW(median_cycle({}, 1), Error);
}

// A machine that halves its speed halfway through: the share stays what it is.
TEST(PeakShare, ComparesWithTheNeighbours) {
  const std::vector<double> rates = {80, 60, 40}, peaks = {100, 100, 50, 50};
  const std::vector<double> shares = shares_of_peak(rates, peaks);
  EXPECT_EQ(shares, (std::vector<double>{0.8, 0.8, 0.8}));
  EXPECT_THROW(shares_of_peak(rates, rates), Error);
}

}  // namespace
}  // namespace dashlm::testing
