// Ridges, heuristics for eigenvalues, and the scale of factors.
#include <gtest/gtest.h>

#include <functional>

#include "reference.h"
#include "run_roots.h"

namespace dashlm::testing {
namespace {

constexpr double kEps = 0x1p-24;

// Eigenvalues 3, 2, 1 and -0.5, so that every heuristic gives something else.
const Spectrum& indefinite() {
  static const Spectrum spectrum({3.0, 2.0, 1.0, -0.5}, 7);
  return spectrum;
}

struct HeuristicCase {
  EigenvalueHeuristic heuristic;
  bool double_ridge;
  RidgeType ridge_type;
  std::function<double(double)> h;  // of an eigenvalue, for ridge 0.1
};

class Heuristics : public ::testing::TestWithParam<HeuristicCase> {};

TEST_P(Heuristics, AreAsDocumented) {
  const HeuristicCase& c = GetParam();
  EvdConfig config;
  config.rank_rtol = 0;  // so that the negative eigenvalue counts
  config.ridge = 0.1;
  config.ridge_type = c.ridge_type;
  config.heuristic = c.heuristic;
  config.double_ridge = c.double_ridge;
  const RootRun run = run_roots({config}, {indefinite().matrix()}, {.exponent = 0.3});
  const Dense expected = indefinite().map([&](double v) { return std::pow(c.h(v), -0.3); });
  // Eigenvalues err by some eps·3, the root of the least, 0.1, by 0.3 · 30 times as much.
  EXPECT_LT(relative_error(run.root(0), expected), 4 * 9 * kEps);
  EXPECT_FLOAT_EQ(run.reports[0].scale, 3.0f);
}

INSTANTIATE_TEST_SUITE_P(
    All, Heuristics,
    ::testing::Values(HeuristicCase{EigenvalueHeuristic::shift, true, RidgeType::absolute,
                                    [](double v) { return v + 0.1 + 0.1 + 0.4; }},
                      HeuristicCase{EigenvalueHeuristic::shift, false, RidgeType::absolute,
                                    [](double v) { return v + 0.1 + 0.5; }},
                      HeuristicCase{EigenvalueHeuristic::shift, false, RidgeType::relative,
                                    [](double v) { return v + 0.3 + 0.5; }},
                      HeuristicCase{EigenvalueHeuristic::abs, true, RidgeType::absolute,
                                    [](double v) { return std::fabs(v + 0.1); }},
                      HeuristicCase{EigenvalueHeuristic::abs, false, RidgeType::absolute,
                                    [](double v) { return std::fabs(v); }},
                      HeuristicCase{EigenvalueHeuristic::abs_plus_eps, true, RidgeType::absolute,
                                    [](double v) { return std::fabs(v + 0.1) + 0.1; }},
                      HeuristicCase{EigenvalueHeuristic::abs_plus_eps, false, RidgeType::relative,
                                    [](double v) { return std::fabs(v) + 0.3; }},
                      HeuristicCase{EigenvalueHeuristic::relu, false, RidgeType::absolute,
                                    [](double v) { return std::max(v, 0.0) + 0.1; }}));

// Without a ridge an eigenvalue that is not positive has no root and gets weight 0.
TEST(Relu, WithoutARidgeIsAPseudoInverse) {
  EvdConfig config;
  config.rank_rtol = 0;
  config.ridge = 0;
  config.heuristic = EigenvalueHeuristic::relu;
  const RootRun run = run_roots({config}, {indefinite().matrix()}, {.exponent = 0.5});
  const Dense expected = indefinite().map([](double v) { return v > 0 ? 1 / std::sqrt(v) : 0.0; });
  EXPECT_LT(relative_error(run.root(0), expected), 8 * kEps);
}

// Small eigenvalues neither count nor shift the others, whatever the ridge makes of them.
TEST(RankRtol, GivesEigenvaluesBelowItTheRootZero) {
  const Spectrum spectrum({4.0, 2.0, 1.0, 0.03, 1e-3, -0.5}, 7);
  for (const bool double_ridge : {false, true}) {
    EvdConfig config;
    config.ridge = 0.1;
    config.rank_rtol = 0.01;
    config.double_ridge = double_ridge;
    const RootRun run = run_roots({config}, {spectrum.matrix()}, {.exponent = 0.5});
    const double added = double_ridge ? 0.2 : 0.1;
    const Dense expected =
        spectrum.map([&](double v) { return v < 0.04 ? 0.0 : 1 / std::sqrt(v + added); });
    // Eigenvalues err by some eps·4, and their roots by half of that.
    EXPECT_LT(relative_error(run.root(0), expected), 4 * 8 * kEps) << double_ridge;
    EXPECT_NEAR(run.reports[0].condition, (4 + added) / (1 + added), 1e-5) << double_ridge;
  }
}

TEST(ConditionEstimate, IsThatOfTheMatrixWithItsRidge) {
  const Spectrum spectrum(Spectrum::log_spaced(9, 1e3), 3);
  EvdConfig config;
  config.ridge = 1e-2;
  config.double_ridge = false;
  const RootRun run = run_roots({config}, {spectrum.matrix()});
  EXPECT_NEAR(run.reports[0].condition, 1.01 / 0.011, 1e-2);
}

// The ridge of the iterations is added to the matrix before they scale it; a relative one is a
// multiple of the Frobenius norm, where that is the estimate of lambda_max.
TEST(RidgeOfIterations, IsAddedToTheMatrix) {
  const Spectrum spectrum(Spectrum::log_spaced(17, 1e6, 5.0), 3);
  const auto block = spectrum.matrix();
  const Dense a = Dense::of(block.data(), 17);
  for (const RidgeType type : {RidgeType::absolute, RidgeType::relative}) {
    CoupledNewtonConfig config;
    config.ridge = 0.01;
    config.ridge_type = type;
    config.scaling.type = ScalingType::frobenius;
    const RootRun run = run_roots({config}, {block});
    const double eps = type == RidgeType::absolute ? 0.01 : 0.01 * a.frobenius();
    const Dense with_ridge = plus_identity(eps, 1.0, a);
    const double scale =
        type == RidgeType::absolute ? with_ridge.frobenius() : a.frobenius() * 1.01;
    EXPECT_NEAR(run.reports[0].scale, scale, 4 * kEps * scale);
    // An error in M grows by s/lambda_min, at most 1000, as in accuracy_test.cpp.
    EXPECT_LT(relative_error(run.root(0), reference_coupled_newton(with_ridge, 4, scale, 10)),
              1000 * kEps);
  }
}

// A ridge far above the block, and one far below: (A + eps·I) is eps·I, or A.
TEST(RidgeOfIterations, MaySwampTheBlock) {
  std::vector<float> tiny(17 * 17);
  for (size_t i = 0; i < 17; ++i) tiny[i * 18] = 1e-38f;
  CoupledNewtonConfig config;
  config.ridge = 1e6;
  const RootRun run = run_roots({config}, {tiny});
  EXPECT_LT(relative_error(run.root(0), plus_identity(std::pow(1e6, -0.25), 0.0, Dense(17))),
            8 * kEps);
}

TEST(FactorScale, ActsLikeAMultipleOfTheFactors) {
  const auto block = Spectrum(Spectrum::log_spaced(17, 100.0), 3).matrix();
  std::vector<float> half = block;
  for (float& x : half) x *= 0.5f;
  EvdConfig evd;
  evd.ridge = 1e-3;
  CoupledNewtonConfig newton;
  newton.ridge = 1e-3;
  for (const InverseRootConfig& config : {InverseRootConfig{evd}, InverseRootConfig{newton}}) {
    const RootRun direct = run_roots(config, {half});
    const RootRun scaled = run_roots(config, {block}, {.factor_scale = 0.5});
    EXPECT_LT(relative_error(scaled.root(0), direct.root(0)), 100 * kEps);
    EXPECT_NEAR(scaled.reports[0].scale, direct.reports[0].scale, 1e-6);
  }
}

}  // namespace
}  // namespace dashlm::testing
