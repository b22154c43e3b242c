// AdEMAMix (Pagliardini, Ablin and Grangier 2024, arXiv 2409.03137): Adam with a second, slow
// average of gradients, which remembers tens of thousands of steps.
//
// Per element, with g the clipped gradient and t counted from 1:
//   m₁ ← β₁·m₁ + (1-β₁)·g      m₂ ← β₃(t)·m₂ + (1-β₃(t))·g      v ← β₂·v + (1-β₂)·g²
//   w ← w·(1 - lr·wd) - lr·(m₁/(1-β₁^t) + α(t)·m₂) / (√(v/(1-β₂^t)) + ε)
// Weight decay is decoupled. State: 12 bytes a parameter.
#pragma once

#include "device/stopwatch.h"
#include "optim/ademamix/config.h"
#include "optim/blocks/block_state.h"
#include "optim/optimizer.h"

namespace dashlm {

class Ademamix final : public Optimizer {
 public:
  Ademamix(const AdemamixConfig& config, OptimizerParts parts);

  void initialize(Context& context) override;
  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;
  UpdateTimes times() const override { return {.update = stopwatch_.milliseconds("update")}; }

 private:
  // Of one stack of N blocks (r, c).
  struct StackState {
    StackPlaces places;
    Tensor fast, slow, variance;  // (N, r, c): m₁, m₂, v
  };
  void update_stack(Context& context, size_t stack, const UpdateStep& step);

  const AdemamixConfig config_;
  const BlockLayout blocks_;
  Tensor weights_, gradients_;
  std::vector<StackState> stacks_;  // as blocks_.stacks()
  Stopwatch stopwatch_;             // of the last update
};

}  // namespace dashlm
