// What must not change a root: neighbours, place in the stack, threads; and what must change it in
// a known way.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "run_roots.h"

namespace dashlm::testing {
namespace {

std::vector<std::vector<float>> some_blocks(int64_t n, size_t count) {
  std::vector<std::vector<float>> blocks;
  for (size_t s = 0; s < count; ++s) {
    const double condition = std::pow(10.0, 1.0 + static_cast<double>(s % 7));
    blocks.push_back(
        Spectrum(Spectrum::log_spaced(n, condition, 0.01 + static_cast<double>(s)), 100 + s)
            .matrix());
  }
  return blocks;
}

struct Method {
  const char* name;
  InverseRootConfig config;
};

NewtonDbConfig in_half_precision() {
  NewtonDbConfig config;
  config.matmul = MatmulPrecision::fp16;
  return config;
}

EvdConfig in_double_precision() {
  EvdConfig config;
  config.precision = EighPrecision::float64;
  return config;
}

class Invariance : public ::testing::TestWithParam<Method> {
 protected:
  const InverseRootConfig& config() const { return GetParam().config; }
};

TEST_P(Invariance, PermutingAStackPermutesTheRootsBitForBit) {
  // n = 1 and 17: blocks begin at addresses of any alignment. 40 blocks of 81: several batches.
  for (const auto& [n, count] : {std::pair<int64_t, size_t>{1, 5}, {17, 9}, {81, 40}, {150, 3}}) {
    const auto blocks = some_blocks(n, count);
    std::vector<int64_t> ids(count);
    for (size_t s = 0; s < count; ++s) ids[s] = static_cast<int64_t>(1000 + 3 * s);
    const RootRun run = run_roots(config(), blocks, {.ids = ids});
    // Reversed, and moved on by one: odd and even places change.
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::reverse(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + 1, order.end());
    std::vector<std::vector<float>> permuted;
    std::vector<int64_t> permuted_ids;
    for (const size_t s : order) {
      permuted.push_back(blocks[s]);
      permuted_ids.push_back(ids[s]);
    }
    const RootRun other = run_roots(config(), permuted, {.ids = permuted_ids});
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(other.roots[i], run.roots[order[i]]) << "block " << order[i] << ", n = " << n;
      EXPECT_EQ(other.reports[i].residual, run.reports[order[i]].residual);
      EXPECT_EQ(other.reports[i].scale, run.reports[order[i]].scale);
    }
  }
}

TEST_P(Invariance, RootsDoNotDependOnTheNumberOfThreads) {
  for (const auto& [n, count] : {std::pair<int64_t, size_t>{17, 9}, {81, 5}, {300, 1}}) {
    const auto blocks = some_blocks(n, count);
    const RootRun one = run_roots(config(), blocks, {.threads = 1});
    for (const int threads : {2, 3}) {
      EXPECT_EQ(run_roots(config(), blocks, {.threads = threads}).roots, one.roots)
          << threads << " threads, n = " << n;
    }
  }
}

TEST_P(Invariance, RootsAreExactlySymmetric) {
  const RootRun run = run_roots(config(), some_blocks(81, 2));
  for (size_t s = 0; s < 2; ++s) {
    const Dense root = run.root(s);
    for (int64_t i = 0; i < 81; ++i) {
      for (int64_t j = 0; j < i; ++j) ASSERT_EQ(root(i, j), root(j, i));
    }
  }
}

TEST_P(Invariance, ScalingAMatrixScalesItsRoot) {
  const auto block = some_blocks(33, 1).front();
  const RootRun run = run_roots(config(), {block});
  // A power of two that the root takes out exactly: 16^(-1/4) = 1/2. Only a ridge's and an
  // eigenvalue's rounding stand between the two for EVD.
  const double exact = std::holds_alternative<EvdConfig>(config().method) ? 0x1p-23 : 0.0;
  for (const auto& [factor, tolerance] :
       {std::pair<double, double>{16.0, exact}, {0x1p-80, exact}, {0x1p80, exact}, {3e-4, 3e-3}}) {
    std::vector<float> scaled = block;
    for (float& x : scaled) x = static_cast<float>(x * factor);
    const RootRun other = run_roots(config(), {scaled});
    const Dense expected = plus_identity(0.0, std::pow(factor, -0.25), run.root(0));
    EXPECT_LE(relative_error(other.root(0), expected), tolerance) << factor;
  }
}

InverseRootConfig relative(InverseRootConfig config) {
  std::visit([](auto& method) { method.ridge_type = RidgeType::relative; }, config.method);
  return config;
}

INSTANTIATE_TEST_SUITE_P(Methods, Invariance,
                         ::testing::Values(Method{"evd", relative({EvdConfig{}})},
                                           Method{"evd_float64", relative({in_double_precision()})},
                                           Method{"coupled_newton", {CoupledNewtonConfig{}}},
                                           Method{"newton_db", {NewtonDbConfig{}}},
                                           Method{"newton_db_fp16", {in_half_precision()}},
                                           Method{"newton_db_frobenius",
                                                  with_frobenius({NewtonDbConfig{}})},
                                           Method{"chebyshev", relative({ChebyshevConfig{}})}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PowerIterationSeed, FollowsFromSeedStepAndBlock) {
  const auto block = some_blocks(33, 1).front();
  NewtonDbConfig config;
  config.scaling.type = ScalingType::power_iteration;
  config.scaling.steps = 1;  // so that the start vector shows
  const auto scale = [&](int64_t id, uint64_t seed, int64_t step) {
    return run_roots({config}, {block}, {.ids = {id}, .seed = seed, .step = step}).reports[0].scale;
  };
  EXPECT_EQ(scale(3, 1, 1), scale(3, 1, 1));
  EXPECT_NE(scale(3, 1, 1), scale(4, 1, 1));
  EXPECT_NE(scale(3, 1, 1), scale(3, 2, 1));
  EXPECT_NE(scale(3, 1, 1), scale(3, 1, 2));
}

}  // namespace
}  // namespace dashlm::testing
