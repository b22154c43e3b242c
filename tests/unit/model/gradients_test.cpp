// The model's gradients against finite differences of the same model in float64.
#include "ops/model/cross_entropy.h"
#include "support/reference_llama.h"
#include "support/tiny_llama.h"

namespace dashlm::testing {
namespace {

using reference::Ints;
using reference::ReferenceLlama;

struct Variant {
  const char* name;
  ModelConfig config;
};
// Widths are odd where they can be. Large initial weights, so that no part of the model is nearly
// linear and every gradient matters.
ModelConfig tiny(int64_t kv_heads, bool tied) {
  return {.n_layer = 2,
          .d_model = 12,
          .n_head = 6,
          .n_kv_head = kv_heads,
          .d_ff = 13,
          .vocab_size = 17,
          .seq_len = 9,
          .tie_embeddings = tied,
          .init_std = 0.4};
}
const Variant kVariants[] = {
    {"as many key heads as query heads", tiny(6, false)},
    {"grouped queries", tiny(2, false)},
    {"one key head", tiny(1, false)},
    {"tied embeddings", tiny(2, true)},
};
constexpr float kScale = 0.25f;

struct Trial {
  TinyLlama llama;
  Batch batch;
  Ints tokens, targets;

  explicit Trial(const ModelConfig& config) : llama(config), batch(llama.batch(3, 7)) {
    // Norm weights other than one, and two ignored targets.
    for (const Parameter& p : llama.layout().parameters()) {
      for (int64_t i = 0; i < p.elements() && !p.is_matrix(); ++i) {
        llama.weights().f32()[p.offset + i] = 1.0f + 0.1f * static_cast<float>(i % 5 - 2);
      }
    }
    batch.targets.i32()[4] = batch.targets.i32()[20] = kIgnoredTarget;
    tokens.assign(batch.tokens.i32(), batch.tokens.i32() + batch.shape.tokens());
    targets.assign(batch.targets.i32(), batch.targets.i32() + batch.shape.tokens());
  }

  double objective(const Doubles& flat) const {
    double total = 0;
    for (const double loss :
         ReferenceLlama(llama.config(), flat).losses(tokens, targets, batch.shape)) {
      total += loss;
    }
    return static_cast<double>(kScale) * total;
  }

  // Of the objective along `direction`, to order h^4 = 1e-12 and float64 rounding of 1e-15/h.
  double derivative(const Doubles& flat, const Doubles& direction) const {
    constexpr double kStep = 1e-3;
    const auto at = [&](double distance) {
      Doubles moved = flat;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += distance * direction[i];
      return objective(moved);
    };
    return (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
  }
};

// Along a random unit direction and along the gradient itself, for each parameter. Rounding
// perturbs a gradient by some tens of roundoffs of its norm, for the dozens of operations on its
// way; a wrong factor or a missing term shows at the size of the norm.
TEST(LlamaGradients, AgreeWithFiniteDifferences) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    Trial trial(variant.config);
    trial.llama.forward_backward(trial.batch, kScale);
    const Doubles flat = values(trial.llama.weights()), all = values(trial.llama.gradients());
    double worst = 0;
    for (const Parameter& p : trial.llama.layout().parameters()) {
      const auto begin = static_cast<size_t>(p.offset),
                 end = begin + static_cast<size_t>(p.elements());
      const double size = norm(all.data() + begin, p.elements());
      ASSERT_GT(size, 1e-3) << p.name << " has no gradient to speak of";
      const CounterRandom random(9, Purpose::test, begin);
      for (int trial_number = 0; trial_number < 2; ++trial_number) {
        Doubles direction(flat.size());
        for (size_t i = begin; i < end; ++i) {
          direction[i] = trial_number == 0 ? all[i] : random.normal(i);
        }
        const double length = norm(direction.data() + begin, p.elements());
        double product = 0;
        for (size_t i = begin; i < end; ++i) {
          direction[i] /= length;
          product += all[i] * direction[i];
        }
        const double error = std::abs(product - trial.derivative(flat, direction));
        worst = std::max(worst, error / (kRoundoff * size));
        EXPECT_LE(error, 40 * kRoundoff * size) << p.name << ", direction " << trial_number;
      }
    }
    RecordProperty("roundoffs", std::to_string(worst));
  }
}

// Rounding of logits of size a few, after some dozens of operations.
TEST(Llama, LossesAndLogitsAgreeWithFloat64) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    Trial trial(variant.config);
    const Doubles flat = values(trial.llama.weights());
    const ReferenceLlama exact(trial.llama.config(), flat);
    const Doubles logits = exact.logits(trial.tokens, trial.batch.shape);
    const double size =
        norm(logits.data(), static_cast<int64_t>(logits.size())) / std::sqrt(logits.size());
    expect_within(trial.llama.logits(trial.batch), logits,
                  Doubles(logits.size(), 40 * kRoundoff * size));
    const Doubles losses = exact.losses(trial.tokens, trial.targets, trial.batch.shape);
    const std::vector<float> got = trial.llama.evaluate(trial.batch);
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(got[i]), losses[i], 80 * kRoundoff * size);
    }
    EXPECT_EQ(got[4], 0);
    EXPECT_EQ(got[20], 0);
  }
}

}  // namespace
}  // namespace dashlm::testing
