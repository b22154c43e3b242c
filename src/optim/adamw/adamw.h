// AdamW (Loshchilov and Hutter 2019). Weight decay is decoupled and applies to matrices only.
// State: two moments, 8 bytes a parameter.
#pragma once

#include "device/stopwatch.h"
#include "optim/adamw/config.h"
#include "optim/blocks/block_state.h"
#include "optim/optimizer.h"

namespace dashlm {

class Adamw final : public Optimizer {
 public:
  Adamw(const AdamwConfig& config, OptimizerParts parts);

  void initialize(Context& context) override;
  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;
  UpdateTimes times() const override { return {.update = stopwatch_.milliseconds("update")}; }

 private:
  // The state of one stack of N blocks (r, c).
  struct StackState {
    StackPlaces places;
    Tensor moment1, moment2;  // (N, r, c)
  };

  const AdamwConfig config_;
  const BlockLayout blocks_;
  Tensor weights_, gradients_;
  std::vector<StackState> stacks_;  // as blocks_.stacks()
  Stopwatch stopwatch_;             // of the last update
};

}  // namespace dashlm
