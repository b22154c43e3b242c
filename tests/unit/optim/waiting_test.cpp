// That an update gives its work away without waiting for the device, and looks at it once.
#include <gtest/gtest.h>

#include "base/timer.h"
#include "device/stopwatch.h"
#include "support/counting_device.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

class Waiting : public ::testing::Test {
 protected:
  void build(const OptimizerConfig& config, const ParameterLayout& layout) {
    const auto make = [&] {
      weights_ = state_.take("weights", {layout.elements()});
      gradients_ = state_.take("gradients", {layout.elements()});
      optimizer_ = make_optimizer(
          config, {optimizer_blocks(config, layout), weights_, gradients_, state_, /*seed=*/3});
    };
    make();
    optimizer_->update(context_, {});
    state_.commit();
    scratch_.commit();
    make();
    optimizer_->initialize(context_);
    for (int64_t i = 0; i < gradients_.elements(); ++i) {
      gradients_.f32()[i] = static_cast<float>(i % 5) - 1.5f;
    }
  }
  void update(int64_t t) {
    device_.forget();
    optimizer_->update(context_, {.update = t, .lr = 0.1});
  }

  CountingDevice device_;
  Arena state_{device_, "state"}, scratch_{device_, "scratch"};
  Context context_{device_, scratch_};
  Tensor weights_, gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

TEST_F(Waiting, DashLooksAtItsRootsOnceWhenAllWorkIsGivenAway) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).frequency = 3;
  block_shampoo(config).stacking = Stacking::block;  // many stacks
  build(config, awkward_parameters());
  for (int64_t t = 1; t <= 6; ++t) {
    update(t);
    const int refreshes = t == 1 || t % 3 == 0 ? 1 : 0;
    EXPECT_EQ(device_.downloads, refreshes) << t;
    EXPECT_EQ(device_.downloads_at_last_mark, 0) << t << ": something was read before the end";
    EXPECT_EQ(device_.uploads, 0) << t;
    EXPECT_EQ(device_.synchronizations, 0) << t;
  }
}

TEST_F(Waiting, AdamwNeverWaits) {
  build(OptimizerConfig("adamw"), awkward_parameters());
  update(1);
  EXPECT_EQ(device_.downloads + device_.uploads + device_.synchronizations, 0);
  EXPECT_GT(optimizer_->times().update, 0.0);
}

TEST_F(Waiting, TimesAreThoseOfTheLastUpdate) {
  build(small_dash(), awkward_parameters());
  for (int64_t t = 1; t <= 5; ++t) update(t);
  const Timer timer;
  update(6);
  const double limit = timer.milliseconds();
  const UpdateTimes times = optimizer_->times();
  for (const double phase : {times.pack, times.factors, times.roots, times.update}) {
    EXPECT_GT(phase, 0.0);
  }
  EXPECT_LE(times.total(), limit);
}

// An error that comes up within a phase goes on to whoever reports it.
TEST_F(Waiting, AFailingDeviceDoesNotEndTheProcess) {
  Stopwatch stopwatch;
  const auto fail_within = [&] {
    const Stopwatch::Phase phase(stopwatch, device_, "phase");
    device_.fails = true;
    throw Error(ExitCode::runtime_failure, "illegal address");
  };
  EXPECT_THROW(fail_within(), Error);
  EXPECT_THROW(device_.mark(), std::runtime_error);
}

TEST_F(Waiting, WithoutAnyFactorThereIsNothingToLookAt) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).vectors = VectorRule::adamw;
  build(config, ParameterLayout({{"a", {5}, 0, 1}}));
  update(1);
  EXPECT_EQ(device_.downloads + device_.uploads + device_.synchronizations, 0);
}

// A failure counts once, at the update that met it: with `stagger` the block's next refresh is f
// updates later.
TEST(Dash, FailuresCountAtRefreshesOnly) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).frequency = 4;
  block_shampoo(config).stagger = true;
  block_shampoo(config).max_failures = 3;
  StepLab lab(config);
  const std::string name = "L of b[4:8, 0:4]";
  lab.run(1);
  lab.state(name).f32()[0] = kNaN;
  int64_t last = 1;
  EXPECT_THROW(
      {
        for (int64_t t = 2; t <= 20; ++t) {
          last = t;
          lab.set_gradients(t);
          lab.update(t);
        }
      },
      Error);
  EXPECT_EQ(lab.state("failures of " + name).i32()[0], 3);
  EXPECT_GE(last, 10);
  EXPECT_LE(last, 13);
}

}  // namespace
}  // namespace dashlm::testing
