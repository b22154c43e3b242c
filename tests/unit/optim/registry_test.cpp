// An optimizer that lives outside of src/: registered by name, chosen by a config, made and used.
#include "optim/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

// w ← w - lr·decay·w: no state, no gradient.
struct ShrinkConfig {
  double decay = 0.5;

  void describe(Schema& schema) { schema.field("decay", decay, "share taken", {0.0, 1.0}); }
  BlockCut cut() const { return {.block_size = 3}; }
  double cost(const Block&) const { return 1; }
  std::vector<std::string> warnings(int64_t) const { return {"it shrinks"}; }
  std::unique_ptr<Optimizer> make(OptimizerParts parts) const;
};

class Shrink final : public Optimizer {
 public:
  Shrink(double decay, OptimizerParts parts) : decay_(decay), parts_(std::move(parts)) {}
  void initialize(Context&) override {}
  void update(Context& context, const UpdateStep& step) override {
    if (context.planning()) return;
    for (const Block& block : parts_.blocks) {
      const BlockPlace& place = block.place;
      for (int64_t i = 0; i < place.rows; ++i) {
        float* row = parts_.weights.f32() + place.offset + i * place.row_stride;
        for (int64_t j = 0; j < place.cols; ++j) row[j] *= static_cast<float>(1 - step.lr * decay_);
      }
    }
  }
  std::vector<Tensor> state() const override { return {}; }

 private:
  const double decay_;
  const OptimizerParts parts_;
};

std::unique_ptr<Optimizer> ShrinkConfig::make(OptimizerParts parts) const {
  return std::make_unique<Shrink>(decay, std::move(parts));
}

void register_once() {
  const std::vector<std::string> types = optimizer_types();
  if (std::ranges::find(types, "shrink") == types.end()) {
    register_optimizer("shrink", ShrinkConfig{});
  }
}

TEST(Registry, TakesOptimizersOfOthers) {
  register_once();
  const OptimizerConfig config = optimizer_config(R"({"type": "shrink", "decay": 0.25})");
  EXPECT_EQ(config.warnings(1), std::vector<std::string>{"it shrinks"});
  StepLab lab(config);
  const std::vector<float> start = lab.weights();
  lab.update(1, 1.0);
  for (size_t i = 0; i < start.size(); ++i) EXPECT_FLOAT_EQ(lab.weights()[i], 0.75f * start[i]);
}

TEST(Registry, NamesAreTakenOnce) {
  register_once();
  expect_bad_input({"shrink", "another name"},
                   [] { register_optimizer("shrink", ShrinkConfig{}); });
  expect_bad_input({"\"sgd\"", "adamw"}, [] { default_settings("sgd"); });
}

TEST(Registry, SettingsAreValues) {
  AnyOptimizerSettings one = BlockShampooConfig{};
  AnyOptimizerSettings copy = one;
  copy.as<BlockShampooConfig>()->block_size = 7;
  EXPECT_EQ(one.as<BlockShampooConfig>()->block_size, 1024);
  EXPECT_EQ(copy.cut().block_size, 7);
  EXPECT_EQ(copy.as<ShrinkConfig>(), nullptr);
}

}  // namespace
}  // namespace dashlm::testing
