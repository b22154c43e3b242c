// AdamW (Loshchilov and Hutter 2019). Weight decay is decoupled and applies to matrices only.
// State: two moments, 8 bytes a parameter.
#pragma once

#include "optim/optimizer.h"

namespace dashlm {

class Adamw final : public Optimizer {
 public:
  // `lr_scale`: one multiplier a parameter; those with 0 are left alone.
  Adamw(const AdamwConfig& config, const ParameterLayout& layout,
        const std::vector<double>& lr_scale, const Tensor& weights, const Tensor& gradients,
        Arena& arena);

  void initialize(Context& context) override;
  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;
  UpdateTimes times() const override { return times_; }

 private:
  const AdamwConfig config_;
  const ParameterLayout& layout_;
  const std::vector<double> lr_scale_;
  Tensor weights_, gradients_;
  Tensor moment1_, moment2_;  // flat, like the weights
  UpdateTimes times_;
};

}  // namespace dashlm
