// The velocity of the block-Shampoo step, followed by hand.
#include <gmock/gmock.h>

#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

struct MomentumCase {
  bool nesterov, decay_in_momentum;
};

class Momentum : public ::testing::TestWithParam<MomentumCase> {};

// One weight, so that the preconditioner cancels: P is the gradient itself.
TEST_P(Momentum, AddsUpUpdatesAndPerhapsTheirDecay) {
  const auto [nesterov, decay_inside] = GetParam();
  OptimizerConfig config = small_dash();
  block_shampoo(config).momentum = 0.8;
  block_shampoo(config).nesterov = nesterov;
  block_shampoo(config).weight_decay = 0.3;
  block_shampoo(config).decay_in_momentum = decay_inside;
  block_shampoo(config).grafting = Grafting::sgd;
  block_shampoo(config).beta_g = 0;
  StepLab lab(config, ParameterLayout({{"w", {1, 1}, 0, 1}}));
  double weight = static_cast<double>(lab.weights()[0]), velocity = 0;
  for (int64_t t = 1; t <= 5; ++t) {
    lab.set_gradients(t);
    const auto gradient = static_cast<double>(lab.gradient(0).f32()[0]);
    const double p = gradient + (decay_inside ? 0.3 * weight : 0.0);
    velocity = 0.8 * velocity + p;
    const double keep = decay_inside ? 1.0 : 1.0 - 0.1 * 0.3;
    weight = keep * weight - 0.1 * (nesterov ? p + 0.8 * velocity : velocity);
    lab.update(t);
    EXPECT_NEAR(static_cast<double>(lab.weights()[0]), weight, 1e-6) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Momentum,
                         ::testing::Values(MomentumCase{false, false}, MomentumCase{true, false},
                                           MomentumCase{false, true}, MomentumCase{true, true}));

// Without a velocity there is nothing for the decay to go through.
TEST(Momentum, OfZeroMakesThePlaceOfTheDecayIrrelevant) {
  OptimizerConfig outside = small_dash(), inside = small_dash();
  for (OptimizerConfig* config : {&outside, &inside}) block_shampoo(*config).weight_decay = 0.3;
  block_shampoo(inside).decay_in_momentum = true;
  StepLab a(outside), b(inside);
  a.run(3);
  b.run(3);
  EXPECT_EQ(a.weights(), b.weights());
}

TEST(Momentum, DecayGoesThroughItInShampooAlone) {
  EXPECT_TRUE(block_shampoo(OptimizerConfig("shampoo")).decay_in_momentum);
  EXPECT_FALSE(block_shampoo(OptimizerConfig("dash")).decay_in_momentum);
}

TEST(Momentum, OfARunIsWarnedOf) {
  BlockShampooConfig config;
  EXPECT_TRUE(config.warnings(1000).empty());
  config.momentum = 0.9;
  ASSERT_EQ(config.warnings(1000).size(), 1u);
  EXPECT_THAT(config.warnings(1000)[0], ::testing::HasSubstr("learning rate by 10"));
}

}  // namespace
}  // namespace dashlm::testing
