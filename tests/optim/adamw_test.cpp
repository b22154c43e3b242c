#include "optim/adamw.h"

#include <set>

#include "model/parameters.h"
#include "ops/adamw.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

ModelConfig small_config() {
  ModelConfig config{.n_layer = 2, .d_model = 8, .n_head = 2, .d_ff = 12, .vocab_size = 11};
  config.resolve();
  return config;
}

class AdamwOptimizer : public ::testing::Test {
 protected:
  AdamwOptimizer()
      : layout_(small_config()),
        weights_(lab_.normal("weights", {layout_.elements()})),
        gradients_(lab_.normal("gradients", {layout_.elements()})),
        arena_(lab_.device(), "optimizer") {}

  std::unique_ptr<Adamw> make(const AdamwConfig& config) {
    const auto construct = [&] {
      return std::make_unique<Adamw>(config, layout_, lr_scale_, weights_, gradients_, arena_);
    };
    construct();  // measures the arena
    arena_.commit();
    return construct();
  }
  void update(Optimizer& optimizer, const UpdateStep& step) {
    run(lab_, [&](Context& context) { optimizer.update(context, step); });
  }

  static Tensor state_of(const Optimizer& optimizer, const std::string& name) {
    for (const Tensor& x : optimizer.state()) {
      if (x.name == name) return x;
    }
    ADD_FAILURE() << "no state is named " << name;
    return {};
  }

  Lab lab_;
  ParameterLayout layout_;
  std::vector<double> lr_scale_ = std::vector<double>(layout_.parameters().size(), 1.0);
  Tensor weights_, gradients_;
  Arena arena_;
};

// With zero gradients and moments only decay is left: one rounded product for matrices, none for
// norms.
TEST_F(AdamwOptimizer, DecaysMatricesOnly) {
  std::fill_n(gradients_.f32(), gradients_.elements(), 0.0f);
  const Doubles before = values(weights_);
  const auto optimizer = make({.weight_decay = 0.5});
  update(*optimizer, {.update = 1, .lr = 0.125});
  int norms = 0;
  for (const Parameter& p : layout_.parameters()) {
    norms += p.is_matrix() ? 0 : 1;
    for (int64_t i = p.offset; i < p.offset + p.elements(); ++i) {
      const double w = before[static_cast<size_t>(i)];
      const double expected = p.is_matrix() ? w * (1 - 0.125 * 0.5) : w;
      ASSERT_EQ(weights_.f32()[i], static_cast<float>(expected)) << p.name;
    }
  }
  EXPECT_EQ(norms, 5);
}

// The optimizer is the operation, applied to each parameter with the configured numbers.
TEST_F(AdamwOptimizer, EqualsTheOperationBitForBit) {
  const Tensor w = lab_.copy("w", weights_);
  const Tensor m = lab_.normal("m", w.shape, 0), v = lab_.normal("v", w.shape, 0);
  const auto optimizer = make({.beta1 = 0.8, .beta2 = 0.97, .eps = 1e-6, .weight_decay = 0.25});
  const Doubles gradients = values(gradients_);
  for (int64_t t = 1; t <= 3; ++t) {
    update(*optimizer, {.update = t, .lr = 0.01 * static_cast<double>(t), .gradient_scale = 0.5});
    run(lab_, [&](Context& context) {
      for (const Parameter& p : layout_.parameters()) {
        const auto part = [&](const Tensor& flat) { return ParameterLayout::view(flat, p); };
        adamw(context, part(w), part(gradients_), part(m), part(v),
              {.lr = static_cast<float>(0.01 * static_cast<double>(t)),
               .beta1 = 0.8f,
               .beta2 = 0.97f,
               .eps = 1e-6f,
               .weight_decay = p.is_matrix() ? 0.25f : 0.0f,
               .gradient_scale = 0.5f,
               .step = t});
      }
    });
  }
  EXPECT_EQ(values(weights_), values(w));
  for (const Parameter& p : layout_.parameters()) {
    EXPECT_EQ(values(state_of(*optimizer, "adamw.moment1." + p.name)),
              values(ParameterLayout::view(m, p)));
    EXPECT_EQ(values(state_of(*optimizer, "adamw.moment2." + p.name)),
              values(ParameterLayout::view(v, p)));
  }
  EXPECT_EQ(values(gradients_), gradients) << "the gradients were changed";
}

TEST_F(AdamwOptimizer, StateIsNamedAfterTheParametersAndStartsAtZero) {
  const auto optimizer = make({});
  for (const Parameter& p : layout_.parameters()) {
    for (const std::string moment : {"adamw.moment1.", "adamw.moment2."}) {
      const Tensor x = state_of(*optimizer, moment + p.name);
      EXPECT_EQ(x.shape, p.shape) << x.text();
      EXPECT_EQ(values(x), Doubles(static_cast<size_t>(x.elements()), 0));
    }
  }
  // Those names are all there are, and no two share memory.
  std::set<std::string> names;
  std::set<const float*> elements;
  for (const Tensor& x : optimizer->state()) {
    EXPECT_TRUE(names.insert(x.name).second) << x.name;
    for (int64_t i = 0; i < x.elements(); ++i) elements.insert(x.f32() + i);
  }
  EXPECT_EQ(names.size(), 2 * layout_.parameters().size());
  EXPECT_EQ(static_cast<int64_t>(elements.size()), 2 * layout_.elements());
}

// Halving one parameter's multiplier halves its change; 0 leaves it alone. Powers of two are exact.
TEST_F(AdamwOptimizer, ScalesTheRateOfEachParameter) {
  lr_scale_[1] = 0;
  lr_scale_[2] = 0.5;
  const Tensor w = lab_.copy("w", weights_);
  const Tensor m = lab_.normal("m", w.shape, 0), v = lab_.normal("v", w.shape, 0);
  const auto optimizer = make({.weight_decay = 0.25});
  update(*optimizer, {.update = 1, .lr = 0.125});
  run(lab_, [&](Context& context) {
    for (size_t i = 0; i < lr_scale_.size(); ++i) {
      const Parameter& p = layout_.parameters()[i];
      const auto part = [&](const Tensor& flat) { return ParameterLayout::view(flat, p); };
      if (i == 1) continue;
      adamw(context, part(w), part(gradients_), part(m), part(v),
            {.lr = i == 2 ? 0.0625f : 0.125f,
             .beta1 = 0.9f,
             .beta2 = 0.95f,
             .eps = 1e-8f,
             .weight_decay = p.is_matrix() ? 0.25f : 0.0f});
    }
  });
  EXPECT_EQ(values(weights_), values(w));
}

TEST_F(AdamwOptimizer, StateContinuesARun) {
  const auto first = make({});
  update(*first, {.update = 1, .lr = 0.01});
  Arena other_arena(lab_.device(), "another optimizer");
  Adamw(AdamwConfig{}, layout_, lr_scale_, weights_, gradients_, other_arena);
  other_arena.commit();
  const Tensor weights = lab_.copy("weights", weights_);
  Adamw second(AdamwConfig{}, layout_, lr_scale_, weights, gradients_, other_arena);
  for (const Tensor& from : first->state()) {
    const Tensor to = state_of(second, from.name);
    lab_.device().copy(to.data, from.data, from.bytes());
  }
  update(*first, {.update = 2, .lr = 0.02});
  update(second, {.update = 2, .lr = 0.02});
  EXPECT_EQ(values(weights), values(weights_));
}

}  // namespace
}  // namespace dashlm::testing
