// Products of blocks in each precision: those of the rounded operands, added up in fp32.
#include <gtest/gtest.h>

#include "ops/blocks/block_products.h"
#include "ops/core/cpu/rounding.h"
#include "ops/core/matmul.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

constexpr MatmulPrecision kPrecisions[] = {MatmulPrecision::fp32, MatmulPrecision::tf32,
                                           MatmulPrecision::fp16, MatmulPrecision::bf16};

double rounded(float x, MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::fp32:
      break;
    case MatmulPrecision::tf32:
      return static_cast<double>(cpu::round_to_tf32(x));
    case MatmulPrecision::fp16:
      return static_cast<double>(cpu::round_to_fp16(x));
    case MatmulPrecision::bf16:
      return static_cast<double>(cpu::round_to_bf16(x));
  }
  return static_cast<double>(x);
}

// Row i of block s of A (N, r, k) times column j of block s of B (N, k, c), and the same of
// magnitudes.
struct Sum {
  double value = 0, magnitude = 0;

  void add(double product) {
    value += product;
    magnitude += std::abs(product);
  }
};

struct Sizes {
  int64_t blocks, rows, inner, cols;
};
constexpr Sizes kSizes[] = {{1, 1, 1, 1}, {3, 5, 7, 9}, {2, 33, 16, 70}, {2, 64, 128, 40}};

TEST(MultiplyBlocks, RoundsOperandsAndAddsInFp32) {
  for (const Sizes& size : kSizes) {
    for (const MatmulPrecision precision : kPrecisions) {
      SCOPED_TRACE(enum_name(precision));
      Lab lab;
      const Tensor a = lab.normal("a", {size.blocks, size.rows, size.inner});
      const Tensor b = lab.normal("b", {size.blocks, size.inner, size.cols});
      const Tensor c = lab.output("c", {size.blocks, size.rows, size.cols});
      run_everywhere(lab, [&](Context& context) { multiply_blocks(context, c, a, b, precision); });
      Doubles expected, bound;
      for (int64_t s = 0; s < size.blocks; ++s) {
        for (int64_t i = 0; i < size.rows; ++i) {
          for (int64_t j = 0; j < size.cols; ++j) {
            Sum sum;
            for (int64_t k = 0; k < size.inner; ++k) {
              sum.add(rounded(a.f32()[(s * size.rows + i) * size.inner + k], precision) *
                      rounded(b.f32()[(s * size.inner + k) * size.cols + j], precision));
            }
            expected.push_back(sum.value);
            bound.push_back(static_cast<double>(size.inner) * kRoundoff * sum.magnitude);
          }
        }
      }
      expect_within(c, expected, bound);
    }
  }
}

TEST(UpdateFactors, RoundsGradientsAndAddsInFp32) {
  constexpr float kBeta = 0.75f, kWeight = 0.25f;
  for (const Sizes& size : kSizes) {
    for (const MatmulPrecision precision : kPrecisions) {
      for (const bool left : {true, false}) {
        SCOPED_TRACE(enum_name(precision));
        Lab lab;
        const int64_t rows = size.rows, cols = size.inner;
        const int64_t n = left ? rows : cols, inner = left ? cols : rows;
        const Tensor g = lab.normal("g", {size.blocks, rows, cols});
        const Tensor start = lab.normal("start", {size.blocks, n, n});
        for (int64_t i = 0; i < start.elements(); ++i) {  // a symmetric one
          const int64_t row = i / n % n, col = i % n;
          start.f32()[i] =
              start.f32()[i - row * n - col + std::max(row, col) * n + std::min(row, col)];
        }
        const Tensor factors = lab.copy("factors", start);
        run_everywhere(lab, [&](Context& context) {
          update_factors(context, factors, g, left ? FactorSide::left : FactorSide::right, kBeta,
                         kWeight, precision);
        });
        Doubles expected, bound;
        for (int64_t s = 0; s < size.blocks; ++s) {
          const float* block = g.f32() + s * rows * cols;
          const auto at = [&](int64_t i, int64_t k) {
            return rounded(left ? block[i * cols + k] : block[k * cols + i], precision);
          };
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              Sum sum;
              for (int64_t k = 0; k < inner; ++k) sum.add(kWeight * at(i, k) * at(j, k));
              sum.add(static_cast<double>(kBeta * start.f32()[(s * n + i) * n + j]));
              expected.push_back(sum.value);
              bound.push_back(static_cast<double>(inner + 2) * kRoundoff * sum.magnitude);
            }
          }
        }
        expect_within(factors, expected, bound);
      }
    }
  }
}

TEST(MultiplyBlocks, InFp32IsMatmulBitForBit) {
  Lab lab;
  const Tensor a = lab.normal("a", {2, 33, 47}), b = lab.normal("b", {2, 47, 21});
  const Tensor c = lab.output("c", {2, 33, 21}), d = lab.output("d", {2, 33, 21});
  run(lab, [&](Context& context) {
    multiply_blocks(context, c, a, b, MatmulPrecision::fp32);
    matmul(context, d, a, b);
  });
  EXPECT_EQ(values(c), values(d));
}

TEST(MultiplyBlocks, ShapesAreChecked) {
  Lab lab;
  const std::vector<Tensor> arguments = {lab.output("c", {2, 3, 5}), lab.normal("a", {2, 3, 4}),
                                         lab.normal("b", {2, 4, 5})};
  for (const MatmulPrecision precision : {MatmulPrecision::fp32, MatmulPrecision::bf16}) {
    expect_shapes_checked(lab, arguments, {}, [&](Context& context, const std::vector<Tensor>& x) {
      multiply_blocks(context, x[0], x[1], x[2], precision);
    });
  }
}

// The less precise, the farther from fp32, and none far. Rounding moves a factor by at most
// roundoff·λ_max twice (both operands of G·Gᵀ), and a root of exponent 1/4 by a quarter of that
// over the ridge; then the two products of L̄·M·R̄ round four operands.
TEST(Dash, MatmulIsThePrecisionOfAllProductsBesidesTheRoots) {
  constexpr double kRidge = 0.1;
  const auto bound = [](double roundoff) { return 2 * (2 * roundoff / kRidge / 4) + 4 * roundoff; };
  std::vector<std::vector<float>> weights;
  std::vector<float> start;
  for (const auto precision : {BlockPrecision::fp32, BlockPrecision::tf32, BlockPrecision::bf16}) {
    OptimizerConfig config = small_dash();
    block_shampoo(config).matmul = precision;
    block_shampoo(config).inverse_root.method =
        EvdConfig{.ridge = kRidge, .ridge_type = RidgeType::relative};
    StepLab lab(config);
    start = lab.weights();
    lab.run(1);
    weights.push_back(movement(start, lab.weights()));
  }
  const double tf32 = relative_difference(weights[1], weights[0]);
  const double bf16 = relative_difference(weights[2], weights[0]);
  EXPECT_GT(tf32, 1e-5);
  EXPECT_GT(bf16, 2 * tf32);
  EXPECT_LT(tf32, bound(0x1p-11));
  EXPECT_LT(bf16, bound(0x1p-8));
}

}  // namespace
}  // namespace dashlm::testing
