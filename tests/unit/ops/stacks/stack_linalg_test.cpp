// Linear algebra on stacks against float64.
#include "ops/stacks/stack_linalg.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "device/device.h"
#include "ops/core/cpu/rounding.h"
#include "support/dense.h"
#include "support/expect_error.h"

namespace dashlm::testing {
namespace {

constexpr double kEps = 0x1p-24;

double rounded(MatmulPrecision precision, double x) {
  return cpu::round_to(precision, static_cast<float>(x));
}

// Its start vectors are those of the header: four numbers of 16 bits from each 64 random ones.
double rounded_power_iteration(const Dense& a, int64_t id, const PowerIteration& options) {
  const CounterRandom random(options.seed, Purpose::power_iteration,
                             static_cast<uint64_t>(options.step));
  std::vector<double> v(static_cast<size_t>(a.n)), product(v.size());
  for (size_t i = 0; i < v.size(); ++i) {
    const uint64_t bits = random.bits((static_cast<uint64_t>(id) << 32) + i / 4);
    const auto word = static_cast<int16_t>(static_cast<uint16_t>(bits >> (16 * (i % 4))));
    v[i] = (static_cast<double>(word) + 0.5) / 0x1p15;
  }
  double length = 0;
  for (int64_t step = 0; step <= options.steps; ++step) {
    length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    if (step == options.steps) break;
    for (int64_t i = 0; i < a.n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < a.n; ++j) {
        sum += rounded(options.precision, a(i, j)) *
               rounded(options.precision, v[static_cast<size_t>(j)] / length);
      }
      product[static_cast<size_t>(i)] = sum;
    }
    v = product;
  }
  return length;
}

class StackLinalg : public ::testing::Test {
 protected:
  StackLinalg() {
    memory_.take("memory", {1 << 21});
    memory_.commit();
    scratch_.take("scratch", {1 << 21});
    scratch_.commit();
  }

  Tensor stack(int64_t blocks, int64_t n) { return memory_.take("stack", {blocks, n, n}); }
  Tensor scalars(int64_t blocks) { return memory_.take("scalars", {blocks}); }
  Tensor states(std::vector<int32_t> values) {
    const Tensor state = memory_.take("state", {std::ssize(values)}, DType::i32);
    std::copy(values.begin(), values.end(), state.i32());
    return state;
  }
  // Blocks 0, 1, … of log-spaced spectra with largest eigenvalue 1, 2, …
  Tensor spd_stack(int64_t blocks, int64_t n) {
    const Tensor a = stack(blocks, n);
    for (int64_t s = 0; s < blocks; ++s) {
      const auto block = spectrum(s, n).matrix();
      std::copy(block.begin(), block.end(), a.f32() + s * n * n);
    }
    return a;
  }
  static Spectrum spectrum(int64_t s, int64_t n) {
    return Spectrum(Spectrum::log_spaced(n, 100.0, static_cast<double>(s + 1)),
                    static_cast<uint64_t>(s));
  }
  static Dense dense(const Tensor& t, int64_t s) {
    return Dense::of(t.f32() + s * t.dim(1) * t.dim(1), t.dim(1));
  }

  std::unique_ptr<Device> device_ = open_device(DASHLM_TEST_DEVICE, 2);
  Arena memory_{*device_, "test"}, scratch_{*device_, "test"};
  Context context_{*device_, scratch_};
};

TEST_F(StackLinalg, SymmetricMatmulIsAProduct) {
  for (const int64_t n : {1, 2, 31, 33, 128, 130, 257}) {
    const ArenaScope scope(memory_);
    const Tensor a = spd_stack(2, n), b = stack(2, n), c = stack(2, n);
    // B = 3I - A/2 commutes with A.
    identity_plus(context_, b, {3.0f}, {-0.5f}, a);
    std::fill_n(c.f32(), c.elements(), 0.25f);
    symmetric_matmul(context_, c, a, b, {.alpha = 2.0f, .beta = 4.0f, .diagonal = -1.0f});
    for (int64_t s = 0; s < 2; ++s) {
      Dense expected = dense(a, s) * dense(b, s);
      for (double& x : expected.data) x = 2 * x + 1;
      for (int64_t i = 0; i < n; ++i) expected(i, i) -= 1;
      // Sums of n terms in some order: √n·eps relative to the norms, with a few to spare.
      EXPECT_LT(relative_error(dense(c, s), expected), 4 * kEps) << "n = " << n;
    }
  }
}

TEST_F(StackLinalg, SymmetricMatmulLeavesInactiveBlocksAlone) {
  const int64_t n = 17, size = n * n;
  const Tensor a = spd_stack(3, n), b = spd_stack(3, n), c = stack(3, n);
  identity_plus(context_, b, {1.0f}, {1.0f}, a);
  const Tensor state = states({kActive, 0, kFailed});
  using Inactive = SymmetricMatmul::Inactive;
  for (const Inactive inactive : {Inactive::keep, Inactive::copy_a, Inactive::copy_b}) {
    for (const auto precision : {MatmulPrecision::fp32, MatmulPrecision::bf16}) {
      std::fill_n(c.f32(), c.elements(), 9.0f);
      symmetric_matmul(context_, c, a, b,
                       {.precision = precision, .state = state, .inactive = inactive});
      EXPECT_NE(c.f32()[0], 9.0f);
      for (int64_t i = size; i < 3 * size; ++i) {
        const float kept = inactive == Inactive::keep     ? 9.0f
                           : inactive == Inactive::copy_a ? a.f32()[i]
                                                          : b.f32()[i];
        ASSERT_EQ(c.f32()[i], kept);
      }
    }
  }
}

TEST_F(StackLinalg, SymmetricMatmulRefusesToOverwriteItsOperands) {
  const Tensor a = spd_stack(1, 4);
  expect_runtime_failure({"symmetric_matmul", "operands"},
                         [&] { symmetric_matmul(context_, a, a, a); });
}

TEST_F(StackLinalg, NormsAndBoundsAreThoseOfTheDefinition) {
  const Tensor a = spd_stack(3, 81), norm = scalars(3), bound = scalars(3);
  frobenius_norm(context_, norm, a);
  eigenvalue_bound(context_, bound, a);
  for (int64_t s = 0; s < 3; ++s) {
    const Dense matrix = dense(a, s);
    double row_sum = 0;
    for (int64_t i = 0; i < 81; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 81; ++j) sum += std::fabs(matrix(i, j));
      row_sum = std::max(row_sum, sum);
    }
    EXPECT_NEAR(norm.f32()[s], matrix.frobenius(), kEps * matrix.frobenius());
    EXPECT_NEAR(bound.f32()[s], std::min(row_sum, matrix.frobenius()), kEps * row_sum);
    EXPECT_GE(bound.f32()[s], s + 1);  // lambda_max
  }
}

TEST_F(StackLinalg, PowerIterationEstimatesFromBelow) {
  const Tensor a = spd_stack(3, 81), one = scalars(3), pool = scalars(3), long_run = scalars(3);
  const std::vector<int64_t> ids = {5, 6, 7};
  power_iteration(context_, one, a, {.pool = 1, .steps = 10, .block_ids = ids});
  power_iteration(context_, pool, a, {.pool = 16, .steps = 10, .block_ids = ids});
  power_iteration(context_, long_run, a, {.pool = 1, .steps = 1000, .block_ids = ids});
  for (int64_t s = 0; s < 3; ++s) {
    const float largest = static_cast<float>(s + 1);
    EXPECT_LE(pool.f32()[s], largest * (1 + 4 * kEps));
    EXPECT_GE(pool.f32()[s], one.f32()[s]);
    EXPECT_GT(one.f32()[s], 0.8f * largest);  // neighbours are 6% apart: 10 steps do not part them
    EXPECT_NEAR(long_run.f32()[s], largest, 8 * kEps * largest);
  }
}

TEST_F(StackLinalg, PowerIterationKnowsBlocksByTheirIds) {
  const int64_t blocks = 601, n = 5;
  const Tensor a = stack(blocks, n), all = scalars(blocks), one = scalars(1);
  const auto block = spectrum(0, n).matrix();
  std::vector<int64_t> ids;
  for (int64_t s = 0; s < blocks; ++s) {
    std::copy(block.begin(), block.end(), a.f32() + s * n * n);
    ids.push_back(7 + 3 * s);
  }
  power_iteration(context_, all, a, {.steps = 1, .block_ids = ids});
  for (const int64_t s : {0, 1, 255, 256, 257, 511, 512, 600}) {
    const std::vector<int64_t> id = {ids[static_cast<size_t>(s)]};
    power_iteration(context_, one, a.rows(s, 1), {.steps = 1, .block_ids = id});
    EXPECT_EQ(all.f32()[s], one.f32()[0]) << s;
    if (s > 0) {
      EXPECT_NE(all.f32()[s], all.f32()[s - 1]) << s;
    }
  }
}

// As float64 does it with operands rounded alike: fp32 sums are apart by some roundoffs. What the
// rounding itself does is a hundred times as much.
TEST_F(StackLinalg, PowerIterationRoundsItsOperands) {
  const int64_t blocks = 4, n = 5, steps = 3;
  const Tensor a = spd_stack(blocks, n), rounded = scalars(blocks), plain = scalars(blocks);
  const std::vector<int64_t> ids = {0, 1, 2, 3};
  PowerIteration options = {.steps = steps, .seed = 3, .step = 7, .block_ids = ids};
  power_iteration(context_, plain, a, options);
  for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
    options.precision = precision;
    power_iteration(context_, rounded, a, options);
    double furthest = 0;
    for (int64_t s = 0; s < blocks; ++s) {
      const double expected = rounded_power_iteration(dense(a, s), s, options);
      EXPECT_NEAR(rounded.f32()[s], expected, 16 * kEps * expected) << name << " " << s;
      furthest = std::max(furthest, std::fabs(expected / plain.f32()[s] - 1));
    }
    EXPECT_EQ(furthest > 128 * kEps, precision != MatmulPrecision::fp32) << name;
  }
}

// LAPACK promises eigenvalues to p(n)·eps·‖A‖, and a reconstruction to as much, p(n) a modest
// multiple of n that depends on how products are added up.
TEST_F(StackLinalg, EighGivesEigenvectorsInRows) {
  for (const EighPrecision precision : {EighPrecision::float32, EighPrecision::float64}) {
    const ArenaScope scope(memory_);
    const int64_t n = 33;
    const Tensor a = spd_stack(2, n), values = memory_.take("values", {2, n});
    const Tensor vectors = stack(2, n), again = stack(2, n), state = states({kActive, kActive});
    eigh(context_, values, vectors, a, state, precision);
    from_spectrum(context_, again, values, vectors, state);
    for (int64_t s = 0; s < 2; ++s) {
      EXPECT_EQ(state.i32()[s], kActive);
      const auto expected = Spectrum::log_spaced(n, 100.0, static_cast<double>(s + 1));
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(values.f32()[s * n + i], expected[static_cast<size_t>(n - 1 - i)],
                    n * kEps * static_cast<double>(s + 1));
      }
      EXPECT_LT(relative_error(dense(again, s), dense(a, s)), n * kEps);
    }
  }
}

TEST_F(StackLinalg, EighMarksABlockThatLapackCannotDo) {
  const int64_t n = 9;
  const Tensor a = spd_stack(3, n), values = memory_.take("values", {3, n});
  const Tensor vectors = stack(3, n), state = states({kActive, kActive, 0});
  a.f32()[n + 1] = std::numeric_limits<float>::quiet_NaN();
  eigh(context_, values, vectors, a, state, EighPrecision::float32);
  EXPECT_EQ(state.i32()[0], kFailed) << "in float32 and in float64";
  EXPECT_EQ(state.i32()[1], kActive);
  EXPECT_EQ(vectors.f32()[2 * n * n], 0.0f) << "not active: left alone";
}

}  // namespace
}  // namespace dashlm::testing
