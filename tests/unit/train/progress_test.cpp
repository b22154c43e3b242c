#include "train/progress.h"

#include <gtest/gtest.h>

namespace dashlm::testing {
namespace {

const std::vector<ProgressPart> kParts = {{"step 1200/10000", 0}, {"loss 4.1631", 1},
                                          {"lr 3.00e-03", 5},     {"norm 0.512", 6},
                                          {"12345 tokens/s", 3},  {"ETA 1m02s", 2}};

TEST(ProgressBar, TakesWhatRoomThereIs) {
  EXPECT_EQ(progress_bar_line(kParts, 0.25, 200),
            "[#####...............] step 1200/10000  loss 4.1631  lr 3.00e-03  norm 0.512  12345 "
            "tokens/s  ETA 1m02s");
  EXPECT_EQ(progress_bar_line(kParts, 1, 80),
            "[########] step 1200/10000  loss 4.1631  lr 3.00e-03  12345 tokens/s  ETA 1m02s");
}

TEST(ProgressBar, LeavesOutWhatMattersLeast) {
  EXPECT_EQ(progress_bar_line(kParts, 0.5, 65),
            "[###...] step 1200/10000  loss 4.1631  12345 tokens/s  ETA 1m02s");
  EXPECT_EQ(progress_bar_line(kParts, 0.5, 40), "step 1200/10000  loss 4.1631  ETA 1m02s");
  EXPECT_EQ(progress_bar_line(kParts, 0.5, 30), "step 1200/10000  loss 4.1631");
  EXPECT_EQ(progress_bar_line(kParts, 0.5, 24), "[##...] step 1200/10000");
  EXPECT_EQ(progress_bar_line(kParts, 0.5, 10), "step 1200");
}

// A line as wide as the terminal would move on to the next one.
TEST(ProgressBar, IsNarrowerThanTheTerminal) {
  for (int columns = 1; columns <= 200; ++columns) {
    EXPECT_LT(progress_bar_line(kParts, 0.3, columns).size(), static_cast<size_t>(columns));
  }
}

}  // namespace
}  // namespace dashlm::testing
