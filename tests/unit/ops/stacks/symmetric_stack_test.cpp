// Products of stacks that keep rounded copies: the same bits as products that round for themselves.
#include "ops/stacks/symmetric_stack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "device/device.h"
#include "ops/roots/newton_step.h"
#include "support/dense.h"

namespace dashlm::testing {
namespace {

using Inactive = SymmetricMatmul::Inactive;

class SymmetricStacks : public ::testing::TestWithParam<MatmulPrecision> {
 protected:
  SymmetricStacks() {
    for (Arena* arena : {&memory_, &scratch_}) {
      arena->take("memory", {1 << 24});
      arena->commit();
    }
  }

  // Symmetric, with elements of all magnitudes below 1, `factor` times.
  Tensor matrices(int64_t blocks, int64_t n, float factor) {
    const Tensor a = memory_.take("A", {blocks, n, n});
    for (int64_t s = 0; s < blocks; ++s) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          const auto mixed = static_cast<uint32_t>((s * n + i) * n + j) * 2654435761u;
          const float x = factor * (static_cast<float>(mixed >> 8) * 0x1p-24f - 0.5f);
          a.f32()[(s * n + i) * n + j] = a.f32()[(s * n + j) * n + i] = x;
        }
      }
    }
    return a;
  }
  Tensor states(std::vector<int32_t> values) {
    const Tensor state = memory_.take("state", {std::ssize(values)}, DType::i32);
    std::copy(values.begin(), values.end(), state.i32());
    return state;
  }
  SymmetricStack copied(const Tensor& values) {
    const SymmetricStack stack = SymmetricStack::with_copy(context_, values, GetParam());
    round_values(context_, stack);
    return stack;
  }
  // C·I, which shows what later products take of C.
  Tensor shown(const SymmetricStack& c, const Tensor& state) {
    const Tensor one = memory_.take("I", c.shape()), product = memory_.take("C·I", c.shape());
    std::fill_n(one.f32(), one.elements(), 0.0f);
    for (int64_t s = 0, n = one.dim(1); s < one.dim(0); ++s) {
      for (int64_t i = 0; i < n; ++i) one.f32()[(s * n + i) * n + i] = 1.0f;
    }
    std::fill_n(product.f32(), product.elements(), 0.0f);
    symmetric_matmul(context_, product, c, one, {.precision = GetParam(), .state = state});
    return product;
  }
  static void expect_same(const Tensor& a, const Tensor& b, const char* what) {
    int64_t differ = 0;
    for (int64_t i = 0; i < a.elements(); ++i) {
      differ += std::memcmp(a.f32() + i, b.f32() + i, sizeof(float)) != 0;
    }
    EXPECT_EQ(differ, 0) << what << ", n = " << a.dim(1);
  }

  std::unique_ptr<Device> device_ = open_device(DASHLM_TEST_DEVICE, 2);
  Arena memory_{*device_, "test"}, scratch_{*device_, "test"};
  Context context_{*device_, scratch_};
};

TEST_P(SymmetricStacks, GiveTheBitsOfProductsThatRoundForThemselves) {
  const MatmulPrecision precision = GetParam();
  for (const int64_t n : {1, 7, 33, 70}) {
    const ArenaScope scope(memory_), scratch_scope(scratch_);
    const Tensor state = states({kActive, 0, kActive | kLate});
    const Tensor a = matrices(3, n, 1.0f), b = matrices(3, n, 0.5f);
    const SymmetricStack copied_a = copied(a), copied_b = copied(b);
    for (const Inactive inactive : {Inactive::keep, Inactive::copy_a, Inactive::copy_b}) {
      const Tensor expected = matrices(3, n, 3.0f), values = matrices(3, n, 3.0f);
      const SymmetricStack c = copied(values);
      SymmetricMatmul options{.alpha = 0.75f,
                              .diagonal = 0.1f,
                              .precision = precision,
                              .state = state,
                              .inactive = inactive};
      if (inactive == Inactive::keep) options.beta = -1.0f;
      symmetric_matmul(context_, expected, a, b, options);
      symmetric_matmul(context_, c, copied_a, copied_b, options);
      expect_same(c.values, expected, "C");
      const Tensor all = states({kActive, kActive, kActive});
      expect_same(shown(c, all), shown(expected, all), "the copy of C");
    }
    // Without values.
    const Tensor square = memory_.take("A²", a.shape);
    const SymmetricStack operand = SymmetricStack::take_operand(context_, "A²", a.shape, precision);
    symmetric_matmul(context_, square, a, a, {.precision = precision, .state = state});
    symmetric_matmul(context_, operand, copied_a, copied_a,
                     {.precision = precision, .state = state});
    expect_same(shown(operand, state), shown(square, state), "an operand");
  }
}

TEST_P(SymmetricStacks, GiveTheBitsOfANewtonStepInTwoParts) {
  const MatmulPrecision precision = GetParam();
  for (const int64_t n : {1, 7, 33, 70}) {
    const ArenaScope scope(memory_), scratch_scope(scratch_);
    const Tensor a = matrices(4, n, 1.0f), b = matrices(4, n, 0.5f);
    std::fill_n(a.f32() + 3 * n * n, n * n, std::numeric_limits<float>::quiet_NaN());
    struct Run {
      Tensor state, steps, residual, n, m;
    };
    const auto run = [&](bool apart, bool keeps_m) {
      Run r{states({kActive, 0, kActive, kActive}),
            states({1, 2, 3, 4}),
            memory_.take("residual", {4}),
            {},
            {}};
      std::fill_n(r.residual.f32(), 4, 5.0f);
      const NewtonTest test{
          .state = r.state, .steps = r.steps, .residual = r.residual, .tolerance = 1e-6f};
      const Tensor alive = states({kActive, 0, kActive, 0});
      if (apart) {
        const Tensor m = memory_.take("M", a.shape), correction = memory_.take("N", a.shape);
        symmetric_matmul(context_, m, a, b, {.precision = precision, .state = r.state});
        newton_correction(context_, correction, m, 1.25f, -0.3f, test);
        r.n = shown(correction, alive);
        r.m = shown(m, alive);
      } else {
        const auto take = [&](const TensorName& name) {
          return SymmetricStack::take_operand(context_, name, a.shape, precision);
        };
        const SymmetricStack m = take("M"), correction = take("N");
        newton_product(
            context_, {correction, keeps_m ? m : SymmetricStack(), copied(a), copied(b), precision},
            1.25f, -0.3f, test);
        r.n = shown(correction, alive);
        if (keeps_m) r.m = shown(m, alive);
      }
      return r;
    };
    const Run apart = run(true, true);
    EXPECT_EQ(apart.state.i32()[3], kFailed);
    for (const bool keeps_m : {false, true}) {
      const Run fused = run(false, keeps_m);
      expect_same(fused.n, apart.n, "N");
      if (keeps_m) expect_same(fused.m, apart.m, "M");
      for (int64_t s = 0; s < 4; ++s) {
        EXPECT_EQ(fused.state.i32()[s], apart.state.i32()[s]) << s;
        EXPECT_EQ(fused.steps.i32()[s], apart.steps.i32()[s]) << s;
        EXPECT_EQ(std::memcmp(fused.residual.f32() + s, apart.residual.f32() + s, 4), 0) << s;
      }
    }
  }
}

// Large enough for a lower triangle in several bands, whatever the precision.
TEST_P(SymmetricStacks, AreProductsInBandsToo) {
  const int64_t n = 1030;
  const Tensor a = matrices(1, n, 1.0f), c = memory_.take("C", a.shape);
  const Tensor state = states({kActive});
  symmetric_matmul(context_, c, a, a, {.precision = GetParam()});
  const SymmetricStack copied_a = copied(a);
  const Tensor rounded = shown(copied_a, state);  // exactly what is multiplied
  const Dense expected = Dense::of(rounded.f32(), n) * Dense::of(rounded.f32(), n);
  EXPECT_LT(relative_error(Dense::of(c.f32(), n), expected), 8 * 0x1p-24);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) ASSERT_EQ(c.f32()[i * n + j], c.f32()[j * n + i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, SymmetricStacks,
                         ::testing::Values(MatmulPrecision::fp32, MatmulPrecision::tf32,
                                           MatmulPrecision::fp16, MatmulPrecision::bf16),
                         [](const auto& test) { return std::string(enum_name(test.param)); });

}  // namespace
}  // namespace dashlm::testing
