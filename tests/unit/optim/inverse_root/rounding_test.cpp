// Rounding of the operands of products, and what it does to the iterations.
#include "ops/core/cpu/rounding.h"

#include <gtest/gtest.h>

#include <limits>

#include "reference.h"
#include "run_roots.h"

namespace dashlm::testing {
namespace {

// The value of a half-precision number, by the definition of the format.
double half_value(uint32_t bits) {
  const uint32_t exponent = bits >> 10, mantissa = bits & 0x3FF;
  return exponent == 0 ? std::ldexp(mantissa, -24)
                       : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
}

// All halves, and the floats around every midpoint of two of them.
TEST(RoundToFp16, IsToNearestEvenForEveryHalf) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto low = static_cast<float>(half_value(bits));
    ASSERT_EQ(cpu::round_to_fp16(low), low);
    // Beyond the largest half, 65504, the next would be 65536, which stands for infinity.
    const bool last = bits + 1 == 0x7C00;
    const auto next = static_cast<float>(half_value(bits + 1));
    const float high = last ? std::numeric_limits<float>::infinity() : next;
    const float middle = low + (next - low) / 2;  // exact in fp32
    const float even = bits % 2 == 0 ? low : high;
    for (const float sign : {1.0f, -1.0f}) {
      ASSERT_EQ(cpu::round_to_fp16(sign * middle), sign * even) << middle;
      ASSERT_EQ(cpu::round_to_fp16(sign * std::nextafter(middle, 0.0f)), sign * low);
      ASSERT_EQ(cpu::round_to_fp16(sign * std::nextafter(middle, 1e9f)), sign * high);
    }
  }
}

TEST(RoundToFp16, OverflowsFlushesAndKeepsNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(cpu::round_to_fp16(65519.99f), 65504.0f);
  EXPECT_EQ(cpu::round_to_fp16(65520.0f), kInfinity);
  EXPECT_EQ(cpu::round_to_fp16(-1e30f), -kInfinity);
  EXPECT_EQ(cpu::round_to_fp16(kInfinity), kInfinity);
  EXPECT_EQ(cpu::round_to_fp16(0x1p-25f), 0.0f);  // half of the least subnormal: to even
  EXPECT_TRUE(std::signbit(cpu::round_to_fp16(-0x1p-26f)));
  EXPECT_TRUE(std::isnan(cpu::round_to_fp16(std::numeric_limits<float>::quiet_NaN())));
}

TEST(RoundToBf16AndTf32, AreToNearestEvenOverTheRangeOfFloat) {
  EXPECT_EQ(cpu::round_to_bf16(1.0f + 0x1p-8f), 1.0f);
  EXPECT_EQ(cpu::round_to_bf16(1.0f + 0x1.8p-7f), 1.0f + 0x1p-6f);
  EXPECT_EQ(cpu::round_to_bf16(1.0f + 0x1.0002p-8f), 1.0f + 0x1p-7f);
  EXPECT_EQ(cpu::round_to_bf16(-0x1p-149f * 0x8000), 0.0f);
  EXPECT_EQ(cpu::round_to_bf16(std::numeric_limits<float>::max()),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(cpu::round_to_tf32(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(cpu::round_to_tf32(1.0f + 0x1.8p-10f), 1.0f + 0x1p-9f);
  EXPECT_EQ(cpu::round_to_tf32(1e-30f + 1e-34f), cpu::round_to_tf32(1e-30f));
  EXPECT_TRUE(std::isnan(cpu::round_to_tf32(std::numeric_limits<float>::quiet_NaN())));
}

// --- What the paper reports: CN is fine with half-precision products, NDB is not
// ------------------

template <class Method>
InverseRootConfig with_products(MatmulPrecision precision) {
  Method method;
  method.matmul = precision;
  return {method};
}

class HalfPrecision : public ::testing::TestWithParam<double> {
 protected:
  const std::vector<float> block_ = Spectrum(Spectrum::log_spaced(81, GetParam()), 5).matrix();
  const Dense a_ = Dense::of(block_.data(), 81);

  double error_of_coupled_newton(const RootRun& run) const {
    return relative_error(run.root(0), reference_coupled_newton(a_, 4, run.reports[0].scale, 10));
  }
};

// The errors are eps = 2^-11 times the growth of accuracy_test.cpp, at most 900, and average out
// over 81 eigenvalues to a tenth or so of that: 6e-2 measured. So the root stays what it is.
TEST_P(HalfPrecision, HurtsCoupledNewtonLittle) {
  for (const MatmulPrecision precision : {MatmulPrecision::fp16, MatmulPrecision::tf32}) {
    const RootRun run = run_roots(with_products<CoupledNewtonConfig>(precision), {block_});
    EXPECT_NE(run.reports[0].status, RootStatus::failed);
    EXPECT_LT(error_of_coupled_newton(run), 0.15);
    EXPECT_GT(error_of_coupled_newton(run), 1e-3) << "the operands were not rounded";
  }
}

// A tf32 product of X adds a rounding of X's elements at every step, as large as those of M's
// products, which it does not make much worse.
TEST_P(HalfPrecision, OfTheRootsOwnProductsHurtsCoupledNewtonLittle) {
  for (const MatmulPrecision precision : {MatmulPrecision::fp16, MatmulPrecision::tf32}) {
    CoupledNewtonConfig config;
    config.root_matmul = precision;
    const double alone = error_of_coupled_newton(run_roots({config}, {block_}));
    EXPECT_GT(alone, 0x1p-14) << "the operands were not rounded";
    EXPECT_LT(alone, 10 * 0x1p-11);  // one rounding a step
    config.matmul = MatmulPrecision::fp16;
    const RootRun run = run_roots({config}, {block_});
    EXPECT_NE(run.reports[0].status, RootStatus::failed);
    EXPECT_LT(error_of_coupled_newton(run), 0.15);
  }
}

TEST_P(HalfPrecision, MakesNewtonDbDiverge) {
  if (GetParam() < 1e6) return;
  for (const MatmulPrecision precision : {MatmulPrecision::fp16, MatmulPrecision::bf16}) {
    const RootRun run = run_roots(with_products<NewtonDbConfig>(precision), {block_});
    EXPECT_EQ(run.reports[0].status, RootStatus::failed) << enum_name(precision);
  }
}

TEST_P(HalfPrecision, OfEightBitsMakesBothDiverge) {
  if (GetParam() < 1e4) return;
  const RootRun run =
      run_roots(with_products<CoupledNewtonConfig>(MatmulPrecision::bf16), {block_});
  EXPECT_EQ(run.reports[0].status, RootStatus::failed);
}

// For the table in the documentation: error against the same iteration in float64, or "failed".
TEST_P(HalfPrecision, IsRecorded) {
  for (const auto& choice : EnumNames<MatmulPrecision>::names) {
    const MatmulPrecision precision = choice.first;
    const RootRun cn = run_roots(with_products<CoupledNewtonConfig>(precision), {block_});
    const RootRun ndb = run_roots(with_products<NewtonDbConfig>(precision), {block_});
    const auto record = [&](const char* method, const RootRun& run, const Dense& expected) {
      const bool failed = run.reports[0].status == RootStatus::failed;
      const double error = relative_error(run.root(0), expected);
      RecordProperty(fmt::format("{}_{}", method, choice.second),
                     failed ? "failed" : fmt::format("{:.1e}", error));
      EXPECT_LT(error, precision == MatmulPrecision::fp32 ? 1e-3 : 100.0) << method;
    };
    record("coupled_newton", cn, reference_coupled_newton(a_, 4, cn.reports[0].scale, 10));
    record("newton_db", ndb, reference_newton_db(a_, 4, ndb.reports[0].scale, 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Conditions, HalfPrecision, ::testing::Values(1e2, 1e4, 1e6, 1e8),
                         [](const auto& test) {
                           return fmt::format("1e{:.0f}", std::log10(test.param));
                         });

// The published power iteration, whose scale may lie below twice the largest eigenvalue.
TEST(ScalingInBf16, RoundsTheMatrix) {
  const std::vector<float> block = {1.0f + 0x1.8p-9f};  // bf16 has 1 and 1 + 2^-7
  for (const auto& [precision, scale] :
       {std::pair{MatmulPrecision::fp32, 2 * block[0]}, {MatmulPrecision::bf16, 2.0f}}) {
    NewtonDbConfig config;
    config.scaling.matmul = precision;
    EXPECT_EQ(run_roots({config}, {block}).reports[0].scale, scale) << enum_name(precision);
  }
}

// In fp16 a well-conditioned block is fine with either: errors of a few eps = 2^-11.
TEST(HalfPrecisionOfEasyBlocks, IsFine) {
  const std::vector<float> block = Spectrum(Spectrum::log_spaced(81, 10), 5).matrix();
  const Dense a = Dense::of(block.data(), 81);
  const RootRun run = run_roots(with_products<NewtonDbConfig>(MatmulPrecision::fp16), {block});
  const Dense expected = reference_newton_db(a, 4, run.reports[0].scale, 10);
  EXPECT_LT(relative_error(run.root(0), expected), 3 * 0x1p-11);
}

}  // namespace
}  // namespace dashlm::testing
