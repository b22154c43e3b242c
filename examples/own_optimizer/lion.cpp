#include "lion.h"

#include <utility>

#include "base/error.h"

namespace {

using namespace dashlm;

class Lion final : public Optimizer {
 public:
  Lion(const LionConfig& config, OptimizerParts parts)
      : config_(config),
        blocks_(std::move(parts.blocks)),
        weights_(parts.weights),
        gradients_(parts.gradients) {
    for (const Block& block : blocks_) {
      momentum_.push_back(
          parts.arena.take("momentum of " + block.name, {block.place.rows, block.place.cols}));
    }
  }

  void initialize(Context& context) override {
    for (const Tensor& momentum : momentum_) context.device.clear(momentum.data, momentum.bytes());
  }

  void update(Context& context, const UpdateStep& step) override {
    require(context.device.kind() == DeviceKind::cpu,
            "this Lion reads tensors in host memory: set \"device\": \"cpu\"");
    if (context.planning()) return;  // there is no memory yet, and Lion takes no scratch
    for (size_t i = 0; i < blocks_.size(); ++i) update_block(blocks_[i], momentum_[i].f32(), step);
  }

  // The name of each tensor ends with that of its block, so that a checkpoint does not depend on
  // the number of ranks.
  std::vector<Tensor> state() const override { return momentum_; }

 private:
  void update_block(const Block& block, float* momentum, const UpdateStep& step) const {
    const BlockPlace& place = block.place;
    const double decay = block.vector ? 0.0 : config_.weight_decay;
    const double lr = step.lr * block.lr_scale;
    for (int64_t row = 0; row < place.rows; ++row) {
      float* w = weights_.f32() + place.offset + row * place.row_stride;
      const float* g = gradients_.f32() + place.offset + row * place.row_stride;
      float* m = momentum + row * place.cols;
      for (int64_t col = 0; col < place.cols; ++col) {
        const double gradient = step.gradient_scale * g[col];
        const double direction = config_.beta1 * m[col] + (1 - config_.beta1) * gradient;
        const double sign = direction > 0 ? 1.0 : direction < 0 ? -1.0 : 0.0;
        w[col] = static_cast<float>(w[col] - lr * (sign + decay * w[col]));
        m[col] = static_cast<float>(config_.beta2 * m[col] + (1 - config_.beta2) * gradient);
      }
    }
  }

  const LionConfig config_;
  const std::vector<Block> blocks_;
  Tensor weights_, gradients_;    // flat f32, laid out alike
  std::vector<Tensor> momentum_;  // (rows, cols) of each block
};

}  // namespace

void LionConfig::describe(Schema& schema) {
  schema.field("beta1", beta1, "weight of the average in the direction of a step", {0.0, 1.0});
  schema.field("beta2", beta2, "decay of the average of gradients", {0.0, 1.0});
  schema.field("weight_decay", weight_decay, "decoupled weight decay, on matrices only",
               {0.0, 1e3});
  schema.field("block_size", block_size,
               "rows and columns of the blocks that parameters are shared out to ranks in", {1});
}

std::unique_ptr<Optimizer> LionConfig::make(OptimizerParts parts) const {
  return std::make_unique<Lion>(*this, std::move(parts));
}
