// EVD whose product takes rounded operands, against the exact root: the decomposition stays fp32.
#include <gtest/gtest.h>

#include <limits>

#include "run_roots.h"
#include "support/dense.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kSize = 81;

// Half of the last place of 1.
double roundoff(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::fp32:
      return 0x1p-24;
    case MatmulPrecision::bf16:
      return 0x1p-8;
    case MatmulPrecision::tf32:
    case MatmulPrecision::fp16:
      break;
  }
  return 0x1p-11;
}

InverseRootConfig evd(MatmulPrecision precision) {
  return {EvdConfig{.ridge = 0, .rank_rtol = 0, .matmul = precision}};
}

struct Errors {
  double exact;     // against the root in float64
  double rounding;  // against EVD in fp32
};

Errors errors_of(const Spectrum& spectrum, double exponent, MatmulPrecision precision) {
  const auto root_of = [&](MatmulPrecision products) {
    const RootRun run = run_roots(evd(products), {spectrum.matrix()}, {.exponent = exponent});
    EXPECT_EQ(run.reports[0].status, RootStatus::ok);
    return run.root(0);
  };
  const Dense exact = spectrum.map([=](double v) { return std::pow(v, -exponent); });
  const Dense root = root_of(precision);
  return {relative_error(root, exact), relative_error(root, root_of(MatmulPrecision::fp32))};
}

class EvdProducts : public ::testing::TestWithParam<double> {
 protected:
  const Spectrum spectrum_{Spectrum::log_spaced(kSize, GetParam()), 5};
};

// A roundoff u of every element of V and of diag(w)·V changes the root by at most u·‖w‖ each, by
// the Frobenius norm, which is the root's own. On average an element is rounded by 0.4 u.
TEST_P(EvdProducts, AddOneRoundoffAnOperand) {
  for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
    if (precision == MatmulPrecision::fp32) continue;
    for (const double exponent : {0.25, 0.5, 1.0}) {
      const double error = errors_of(spectrum_, exponent, precision).rounding;
      EXPECT_LT(error, roundoff(precision)) << name << " " << exponent;
      EXPECT_GT(error, 0.3 * roundoff(precision)) << name << ": the operands were not rounded";
    }
  }
}

// For the table in the documentation.
TEST_P(EvdProducts, AreRecorded) {
  for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
    const double error = errors_of(spectrum_, 0.25, precision).exact;
    RecordProperty(std::string("evd_") + name, fmt::format("{:.1e}", error));
    EXPECT_LT(error, roundoff(precision) + 0.3);
  }
}

INSTANTIATE_TEST_SUITE_P(Conditions, EvdProducts, ::testing::Values(1e2, 1e4, 1e6, 1e8),
                         [](const auto& test) {
                           return fmt::format("1e{:.0f}", std::log10(test.param));
                         });

// fp16 ends at 65504 and begins at 6e-8; roots need not.
TEST(EvdProductsInFp16, TakeRootsOfAnySize) {
  for (const double largest : {1e-30, 1e30}) {
    for (const double exponent : {0.25, 0.5, 1.0}) {
      const Spectrum spectrum(Spectrum::log_spaced(kSize, 1e2, largest), 5);
      const Errors errors = errors_of(spectrum, exponent, MatmulPrecision::fp16);
      EXPECT_LT(errors.exact, 0x1p-11) << largest << " " << exponent;
    }
  }
}

// Each block has a unit of its own; zero and failed blocks have none.
TEST(EvdProductsInFp16, LeaveOtherBlocksAlone) {
  const std::vector<float> block = Spectrum(Spectrum::log_spaced(9, 1e2), 5).matrix();
  std::vector<float> small = block, bad = block;
  for (float& x : small) x *= 0x1p-80f;
  bad[10] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> zero(block.size());
  const InverseRootConfig config = evd(MatmulPrecision::fp16);
  const RootRun alone = run_roots(config, {block});
  const RootRun run = run_roots(config, {small, zero, bad, block});
  EXPECT_EQ(run.roots[3], alone.roots[0]);
  EXPECT_EQ(run.roots[1], zero);
  EXPECT_EQ(run.reports[2].status, RootStatus::failed);
  EXPECT_EQ(run.roots[2][0], -7.0f) << "the previous root";
  for (size_t i = 0; i < block.size(); ++i) {
    EXPECT_FLOAT_EQ(run.roots[0][i], alone.roots[0][i] * 0x1p20f);
  }
}

}  // namespace
}  // namespace dashlm::testing
