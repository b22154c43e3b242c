// A model that computes in bf16 is the f32 model up to rounding: the same weights, the same
// gradients, and losses that differ by what bf16 cannot hold.
#include "support/tiny_llama.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kLength = 20;

ModelConfig config() {
  return {.n_layer = 3,
          .d_model = 24,
          .n_head = 4,
          .n_kv_head = 2,
          .d_ff = 40,
          .vocab_size = 61,
          .seq_len = kLength,
          .init_std = 0.2};
}

struct Passes {
  Doubles losses, gradients;
};

Passes run(const ModelTypes& types, bool recompute = false) {
  TinyLlama llama(config(), 3, types);
  const Batch batch = llama.batch(3, kLength);
  const std::vector<float> losses = llama.forward_backward(batch, 1.0f / 60, recompute);
  return {Doubles(losses.begin(), losses.end()), values(llama.gradients())};
}

double relative_difference(const double* a, const double* b, int64_t count) {
  Doubles difference(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) difference[static_cast<size_t>(i)] = a[i] - b[i];
  return norm(difference.data(), count) / norm(b, count);
}

class Bf16Llama : public ::testing::TestWithParam<DType> {};

// Each of the dozens of roundings on the way of a gradient perturbs what it rounds by up to 2^-8,
// on average by less than half of it and in random directions; a wrong factor or a missing term
// shows at the size of the gradient. That bf16 was computed in shows as a difference, too.
TEST_P(Bf16Llama, FollowsF32) {
  const Passes exact = run({}), rounded = run({DType::bf16, GetParam()});
  const double losses =
      relative_difference(rounded.losses.data(), exact.losses.data(), std::ssize(exact.losses));
  EXPECT_LT(losses, 2 * kBf16Roundoff);
  EXPECT_GT(losses, kBf16Roundoff / 64);
  const ParameterLayout layout(TinyLlama(config()).layout());
  for (const Parameter& p : layout.parameters()) {
    const double difference = relative_difference(rounded.gradients.data() + p.offset,
                                                  exact.gradients.data() + p.offset, p.elements());
    EXPECT_LT(difference, 10 * kBf16Roundoff) << p.name;
    EXPECT_GT(difference, kBf16Roundoff / 64) << p.name;
  }
}

TEST_P(Bf16Llama, RecomputationChangesNoBit) {
  const ModelTypes types{DType::bf16, GetParam()};
  const Passes kept = run(types), again = run(types, /*recompute=*/true);
  EXPECT_EQ(kept.losses, again.losses);
  EXPECT_EQ(kept.gradients, again.gradients);
}

// Weights, activations and their gradients take half the memory; the residual stream does not,
// unless it is rounded as well.
TEST_P(Bf16Llama, TakesLessMemory) {
  TinyLlama f32(config()), bf16(config(), 3, {DType::bf16, GetParam()});
  f32.forward_backward(f32.batch(3, kLength), 1);
  bf16.forward_backward(bf16.batch(3, kLength), 1);
  const double share = static_cast<double>(bf16.last_activation_bytes()) /
                       static_cast<double>(f32.last_activation_bytes());
  EXPECT_LT(share, GetParam() == DType::bf16 ? 0.56 : 0.63);
  EXPECT_GT(share, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Residual, Bf16Llama, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace dashlm::testing
