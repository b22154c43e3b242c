// Every recorded run that can be replayed is, and a replay can fail.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "golden/replay.h"

namespace dashlm::golden {
namespace {

std::string fixture(const std::string& name) {
  return std::string(DASHLM_SOURCE_DIR) + "/tests/golden/" + name + ".safetensors";
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, Replays) {
  const Replay replay = replay_file(fixture(GetParam()));
  for (const Comparison& c : replay.comparisons) {
    EXPECT_LE(c.error, c.tolerance) << c.what;
  }
  EXPECT_TRUE(replay.ok());
}

INSTANTIATE_TEST_SUITE_P(Recordings, GoldenTest,
                         testing::Values("llama_grads", "roots", "dash_evd_f1", "dash_evd_f3",
                                         "dash_cn_f1", "dash_ndb_f1", "dash_cbshv_f1",
                                         "train_adamw", "train_dash_evd", "train_dash_ndb",
                                         "fb_shampoo_f1_a", "fb_shampoo_f3_a",
                                         "fb_shampoo_momentum_a", "fb_shampoo_tiny_eps_a",
                                         "ademamix_a", "ademamix_nowarm_a"));

TEST(GoldenTest, NoComparisonOrANaNIsAFailure) {
  EXPECT_FALSE(Replay{}.ok());
  EXPECT_FALSE((Replay{"x", {{"value", std::nan(""), 1}}}.ok()));
  EXPECT_THROW(replay_file(fixture("absent")), Error);
}

}  // namespace
}  // namespace dashlm::golden
