// AdamW (Loshchilov and Hutter 2019). Weight decay is decoupled and applies to matrices only.
// State: two moments, 8 bytes a parameter.
#pragma once

#include "optim/optimizer.h"

namespace dashlm {

class Adamw final : public Optimizer {
 public:
  Adamw(const AdamwConfig& config, const ParameterLayout& layout, const Tensor& weights,
        const Tensor& gradients, Arena& arena);

  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;

 private:
  const AdamwConfig config_;
  const ParameterLayout& layout_;
  Tensor weights_, gradients_;
  Tensor moment1_, moment2_;  // flat, like the weights
};

}  // namespace dashlm
