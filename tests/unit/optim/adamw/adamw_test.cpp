#include "optim/adamw/adamw.h"

#include <set>

#include "model/parameters.h"
#include "ops/blocks/adamw.h"
#include "support/step_lab.h"

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
      : layout_(llama_parameters(small_config())),
        weights_(lab_.normal("weights", {layout_.elements()})),
        gradients_(lab_.normal("gradients", {layout_.elements()})),
        arena_(lab_.device(), "optimizer") {}

  // Of five rows and columns: they divide nothing. Frozen ones are not the optimizer's.
  std::vector<Block> blocks() const {
    std::vector<Block> all = cut_into_blocks(layout_, {.block_size = 5}, lr_scale_);
    std::erase_if(all, [](const Block& block) { return block.lr_scale == 0; });
    return all;
  }

  OptimizerParts parts(const Tensor& weights, Arena& arena) const {
    return {blocks(), weights, gradients_, arena};
  }
  std::unique_ptr<Adamw> make(const AdamwConfig& config) {
    const auto construct = [&] { return std::make_unique<Adamw>(config, parts(weights_, arena_)); };
    construct();  // measures the arena
    arena_.commit();
    auto optimizer = construct();
    run(lab_, [&](Context& context) { optimizer->initialize(context); });
    return optimizer;
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
  // The operation on one parameter, as one block.
  static void flat_adamw(Context& context, const Tensor& w, const Tensor& g, const Tensor& m,
                         const Tensor& v, const AdamwStep& step) {
    const int64_t n = w.elements();
    std::vector<int64_t> table = {0, n, 1, n, 0};
    std::vector<float> one = {1.0f};
    adamw(context,
          {.weights = w.view({n}),
           .gradients = g.view({n}),
           .table = {table.data(), DType::i64, {1, 5}, "table"},
           .lr_scale = {one.data(), DType::f32, {1}, "lr_scale"},
           .moment1 = m.view({1, 1, n}),
           .moment2 = v.view({1, 1, n})},
          step);
  }
  // A block's part of a flat tensor, packed.
  Tensor packed(const Tensor& flat, const Block& block) {
    const BlockPlace& place = block.place;
    const Tensor to = lab_.output("packed", {place.rows, place.cols});
    for (int64_t i = 0; i < place.rows; ++i) {
      std::copy_n(flat.f32() + place.offset + i * place.row_stride, place.cols,
                  to.f32() + i * place.cols);
    }
    return to;
  }

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
        flat_adamw(context, part(w), part(gradients_), part(m), part(v),
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
  for (const Block& block : blocks()) {
    EXPECT_EQ(values(state_of(*optimizer, "moment1 of " + block.name)), values(packed(m, block)));
    EXPECT_EQ(values(state_of(*optimizer, "moment2 of " + block.name)), values(packed(v, block)));
  }
  EXPECT_EQ(values(gradients_), gradients) << "the gradients were changed";
}

TEST_F(AdamwOptimizer, StateIsNamedAfterTheBlocksAndStartsAtZero) {
  const auto optimizer = make({});
  for (const Block& block : blocks()) {
    for (const std::string moment : {"moment1 of ", "moment2 of "}) {
      const Tensor x = state_of(*optimizer, moment + block.name);
      EXPECT_EQ(x.shape, (Shape{block.place.rows, block.place.cols})) << x.text();
      EXPECT_EQ(values(x), Doubles(static_cast<size_t>(x.elements()), 0));
    }
  }
  // Those names are all there are, and no two share memory.
  std::set<std::string> names;
  std::set<const float*> elements;
  for (const Tensor& x : optimizer->state()) {
    EXPECT_TRUE(names.insert(x.name).second) << x.name.text();
    for (int64_t i = 0; i < x.elements(); ++i) elements.insert(x.f32() + i);
  }
  EXPECT_EQ(names.size(), 2 * blocks().size());
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
      flat_adamw(context, part(w), part(gradients_), part(m), part(v),
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
  Adamw(AdamwConfig{}, parts(weights_, other_arena));
  other_arena.commit();
  const Tensor weights = lab_.copy("weights", weights_);
  Adamw second(AdamwConfig{}, parts(weights, other_arena));
  run(lab_, [&](Context& context) { second.initialize(context); });
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
