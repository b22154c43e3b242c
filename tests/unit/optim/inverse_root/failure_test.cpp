// Blocks whose root fails, and blocks that nearly do.
#include <gtest/gtest.h>

#include <limits>

#include "run_roots.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kOrder = 17;

std::vector<float> good_block(uint64_t seed) {
  return Spectrum(Spectrum::log_spaced(kOrder, 1e3), seed).matrix();
}

struct Method {
  const char* name;
  InverseRootConfig config;
};

class EveryMethod : public ::testing::TestWithParam<Method> {
 protected:
  // The middle one of three blocks; its neighbours must come out as if they were by themselves.
  RootRun run_between_good_blocks(const std::vector<float>& block) const {
    const std::vector<float> first = good_block(1), last = good_block(2);
    RootRun together = run_roots(GetParam().config, {first, block, last});
    const RootRun alone = run_roots(GetParam().config, {first, last}, {.ids = {0, 2}});
    EXPECT_EQ(together.roots[0], alone.roots[0]);
    EXPECT_EQ(together.roots[2], alone.roots[1]);
    EXPECT_NE(together.reports[0].status, RootStatus::failed);
    EXPECT_NE(together.reports[2].status, RootStatus::failed);
    return together;
  }

  void expect_failure(const std::vector<float>& block) const {
    const RootRun run = run_between_good_blocks(block);
    EXPECT_EQ(run.reports[1].status, RootStatus::failed);
    EXPECT_EQ(run.roots[1], std::vector<float>(block.size(), -7.0f)) << "the previous root";
  }
};

TEST_P(EveryMethod, KeepsThePreviousRootOfABlockWithNan) {
  std::vector<float> block = good_block(3);
  block[5 * kOrder + 7] = block[7 * kOrder + 5] = std::numeric_limits<float>::quiet_NaN();
  expect_failure(block);
}

TEST_P(EveryMethod, KeepsThePreviousRootOfABlockWithInfinity) {
  std::vector<float> block = good_block(3);
  block[0] = -std::numeric_limits<float>::infinity();
  expect_failure(block);
}

TEST_P(EveryMethod, GivesZeroForAZeroBlock) {
  const RootRun run = run_between_good_blocks(std::vector<float>(kOrder * kOrder, 0.0f));
  EXPECT_EQ(run.reports[1].status, RootStatus::ok);
  EXPECT_EQ(run.reports[1].scale, 0.0f);
  EXPECT_EQ(run.roots[1], std::vector<float>(kOrder * kOrder, 0.0f));
}

TEST_P(EveryMethod, FindsRootsOfDenormalBlocks) {
  // A multiple of I by a power of two: nothing is lost in the denormal range. The root is that of
  // I, which methods find up to their own errors (Chebyshev: 1e-4), times 2^(135/4).
  std::vector<float> identity(kOrder * kOrder), tiny = identity;
  for (int64_t i = 0; i < kOrder; ++i) {
    identity[static_cast<size_t>(i * (kOrder + 1))] = 1.0f;
    tiny[static_cast<size_t>(i * (kOrder + 1))] = 0x1p-140f;
  }
  const RootRun run = run_roots(GetParam().config, {identity, tiny}, {.ids = {4, 4}});
  EXPECT_LT(relative_error(run.root(1), plus_identity(0.0, 0x1p35, run.root(0))), 2 * 0x1p-24);
}

TEST_P(EveryMethod, FailsWhereTheRootDoesNotFitIntoFloat) {
  if (std::string(GetParam().name) == "newton_db") return;  // has no exponent 1
  std::vector<float> tiny(kOrder * kOrder);
  for (int64_t i = 0; i < kOrder; ++i) tiny[static_cast<size_t>(i * (kOrder + 1))] = 0x1p-140f;
  const RootRun run = run_roots(GetParam().config, {tiny}, {.exponent = 1.0});
  EXPECT_EQ(run.reports[0].status, RootStatus::failed);
  EXPECT_EQ(run.roots[0], std::vector<float>(tiny.size(), -7.0f));
}

InverseRootConfig relative(InverseRootConfig config) {
  std::visit([](auto& method) { method.ridge_type = RidgeType::relative; }, config.method);
  return config;
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         ::testing::Values(Method{"evd", relative({EvdConfig{}})},
                                           Method{"coupled_newton", {CoupledNewtonConfig{}}},
                                           Method{"newton_db", {NewtonDbConfig{}}},
                                           Method{"chebyshev", relative({ChebyshevConfig{}})}),
                         [](const auto& test) { return std::string(test.param.name); });

// An eigenvalue of -lambda_max/2: the iterations drive it away from 1.
TEST(DivergingBlock, IsNoticedByItsResidual) {
  std::vector<double> values = Spectrum::log_spaced(kOrder, 1e3);
  values.back() = -0.5;
  const std::vector<float> block = Spectrum(values, 3).matrix();
  for (const InverseRootConfig& config :
       {InverseRootConfig{CoupledNewtonConfig{}}, InverseRootConfig{NewtonDbConfig{}}}) {
    const RootRun run = run_roots(config, {good_block(1), block});
    EXPECT_EQ(run.reports[0].status, RootStatus::out_of_steps);
    EXPECT_EQ(run.reports[1].status, RootStatus::failed);
    EXPECT_GT(run.reports[1].residual, 2.0f);
    EXPECT_LT(run.reports[1].steps, 10);
    EXPECT_EQ(run.roots[1], std::vector<float>(block.size(), -7.0f));
  }
}

// The polynomial of degree 60 is 1e33 at such places; what is stored must be a root.
TEST(IndefiniteBlock, IsNoticedByTheSizeOfTheChebyshevResult) {
  const auto with_least = [](double least) {
    std::vector<double> values = Spectrum::log_spaced(kOrder, 1e3);
    values.back() = least;
    return Spectrum(values, 3).matrix();
  };
  std::vector<float> minus_identity(kOrder * kOrder);
  for (int64_t i = 0; i < kOrder; ++i) minus_identity[static_cast<size_t>(i * (kOrder + 1))] = -1;
  for (const double exponent : {0.25, 0.5, 1.0}) {
    for (const ScalingType scaling : {ScalingType::multi_power_iteration, ScalingType::bound}) {
      ChebyshevConfig config;
      config.scaling.type = scaling;
      const RootRun run = run_roots(
          {config},
          {good_block(1), minus_identity, with_least(-0.5), with_least(-0.05), with_least(-1e-7)},
          {.exponent = exponent});
      EXPECT_EQ(run.reports[0].status, RootStatus::ok) << exponent;
      for (const size_t block : {1u, 2u, 3u}) {
        EXPECT_EQ(run.reports[block].status, RootStatus::failed) << exponent << ", " << block;
        EXPECT_EQ(run.roots[block], std::vector<float>(kOrder * kOrder, -7.0f)) << block;
      }
      EXPECT_EQ(run.reports[4].status, RootStatus::ok) << "a rounding error below zero";
    }
  }
}

TEST(ConvergedBlock, StopsEarlyBesideOneThatDoesNot) {
  const std::vector<float> easy = Spectrum(Spectrum::log_spaced(kOrder, 2.0), 4).matrix();
  const RootRun run = run_roots({CoupledNewtonConfig{}},
                                {easy, Spectrum(Spectrum::log_spaced(kOrder, 1e8), 5).matrix()});
  EXPECT_EQ(run.reports[0].status, RootStatus::ok);
  EXPECT_LT(run.reports[0].steps, 8);
  EXPECT_LT(run.reports[0].residual, 1e-6f);
  EXPECT_EQ(run.reports[1].status, RootStatus::out_of_steps);
  EXPECT_EQ(run.reports[1].steps, 10);
}

// p = 4 by NDB: a square root that ran out of steps is reported even if the second root did not.
TEST(ConvergedBlock, OfTwoRootsNeedsBoth) {
  const std::vector<float> block = Spectrum(Spectrum::log_spaced(kOrder, 300.0), 6).matrix();
  NewtonDbConfig config;
  const RootReport ten = run_roots({config}, {block}).reports[0];
  EXPECT_EQ(ten.status, RootStatus::out_of_steps);
  EXPECT_LT(ten.residual, 1e-6f) << "of the second root, which did converge";
  config.steps = 20;
  config.tolerance = 1e-4;  // rounding keeps the residual of the square root above 1e-6
  EXPECT_EQ(run_roots({config}, {block}).reports[0].status, RootStatus::ok);
}

}  // namespace
}  // namespace dashlm::testing
