// The measure that `dashlm bench roots --from` holds roots against.
#include "ops/roots/exact_root.h"

#include <gtest/gtest.h>

#include "support/dense.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kN = 23;

std::vector<float> rounded(const Dense& matrix) {
  return {matrix.data.begin(), matrix.data.end()};
}

// Rounding A to fp32 moves an eigenvalue by about 2^-24 times its n-th part or so of lambda_max.
TEST(ExactSpectra, HaveTheEigenvaluesAMatrixWasMadeOf) {
  const std::vector<double> values = Spectrum::log_spaced(kN, 1e3, 7.0);
  const auto found = exact_spectra(Spectrum(values, 1).matrix(), kN);
  ASSERT_EQ(found.size(), 1u);
  for (int64_t i = 0; i < kN; ++i) {
    const double expected = values[static_cast<size_t>(kN - 1 - i)];  // ascending
    EXPECT_NEAR(found[0].values[static_cast<size_t>(i)], expected, 7.0 * 0x1p-24);
  }
  EXPECT_NEAR(found[0].condition(), 1e3, 1e3 * 1e3 * 0x1p-24);
}

TEST(ExactSpectra, CountEigenvaluesAboveTheFloorAndCallSingularOnesInfinite) {
  std::vector<float> matrix(kN * kN);  // diagonal: five are 1, one 1e-4, the others 0
  for (size_t i = 0; i < 5; ++i) matrix[i * (kN + 1)] = 1.0f;
  matrix[5 * (kN + 1)] = 1e-4f;
  const auto found = exact_spectra(matrix, kN);
  EXPECT_EQ(found[0].rank(1e-5), 6);
  EXPECT_EQ(found[0].rank(1e-3), 5);
  EXPECT_TRUE(std::isinf(found[0].condition()));
}

// A stack of the root itself, of one a tenth too large, and of one with an error of a known size.
TEST(RootErrors, AreRelativeToTheRoot) {
  const Spectrum spectrum(Spectrum::log_spaced(kN, 1e3), 2);
  const Dense root = spectrum.map([](double v) { return std::pow(v, -0.25); });
  Dense with_error = root;
  with_error(3, 3) += 0.01 * root.frobenius();
  std::vector<float> roots, matrices;
  for (const Dense& one : {root, plus_identity(0, 1.1, root), with_error}) {
    const std::vector<float> host = rounded(one), matrix = spectrum.matrix();
    roots.insert(roots.end(), host.begin(), host.end());
    matrices.insert(matrices.end(), matrix.begin(), matrix.end());
  }
  const auto errors = root_errors(roots, exact_spectra(matrices, kN), 0.25, 0.0);
  // What rounding A to fp32 makes of the root of its least eigenvalue: e · 2^-24 · condition.
  constexpr double kRounded = 0.25 * 0x1p-24 * 1e3;
  EXPECT_LT(errors[0], kRounded);
  EXPECT_GT(errors[0], 0);
  EXPECT_NEAR(errors[1], 0.1, kRounded);
  EXPECT_NEAR(errors[2], 0.01, kRounded);
}

// A factor of rank 9: whatever a method does to the others, gradients have nothing there.
TEST(RootErrors, DoNotLookBelowTheFloor) {
  std::vector<double> values(kN, 0.0);
  for (size_t i = 0; i < 9; ++i) values[i] = std::pow(10.0, -0.4 * static_cast<double>(i));
  const Spectrum spectrum(values, 3);
  const auto exact = exact_spectra(spectrum.matrix(), kN);
  EXPECT_EQ(exact[0].rank(1e-5), 9);
  const auto error_with = [&](double others, double ninth) {
    const auto h = [&](double v) {
      if (v < 1e-5) return others;
      return v == values[8] ? ninth : std::pow(v, -0.5);
    };
    return root_errors(rounded(spectrum.map(h)), exact, 0.5, 1e-5)[0];
  };
  const double right = std::pow(values[8], -0.5);
  EXPECT_LT(error_with(0.0, right), 1e-4);
  EXPECT_LT(error_with(1000.0, right), 0.05);  // leaks through eigenvectors that fp32 has turned
  EXPECT_GT(error_with(0.0, 2 * right), 0.5);
}

}  // namespace
}  // namespace dashlm::testing
