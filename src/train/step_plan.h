// What a training step takes on one rank of a run: known before anything is allocated, and from the
// settings alone.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/ownership.h"
#include "optim/optimizer.h"
#include "train/run_config.h"

namespace dashlm {

// Bytes of each group.
struct MemoryPlan {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t shard = 0;  // fp32 weights and summed gradients of own blocks, unless those of the passes
  int64_t buckets = 0;  // room for parameters on their way between ranks
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t scratch = 0;  // intermediate results within operations and layers
  int64_t batch = 0;    // tokens, targets, losses, totals and RoPE tables

  int64_t total() const {
    return weights + gradients + shard + buckets + optimizer + activations + scratch + batch;
  }
};

struct StepPlan {
  RankPlace place;
  MemoryPlan memory;
  int64_t micro_batch = 0;  // sequences at once: train.micro_batch, or the rank's share if less

  // FLOPs of a step, where some refresh roots and some do not: the mean of those after
  // optimizer.start. Those before it, which use no roots, take fewer.
  double flops = 0;
  double update_flops = 0;    // the optimizer's part of them, with the norm of the gradient
  double sequence_flops = 0;  // both passes over one sequence, without recomputation

  int64_t parameters = 0;      // of the model
  int64_t own_parameters = 0;  // that the rank owns
  int64_t own_blocks = 0;
  int64_t buckets = 0;               // in which parameters travel
  int64_t bytes_sent = 0;            // to other ranks in a step
  std::vector<double> cost_by_rank;  // of each rank's blocks, see block_cost()
  std::vector<StackPlan> stacks;     // of the optimizer
};

// Of one rank. `device` chooses the backend, whose scratch memory differs; nothing is allocated.
StepPlan plan_step(Device& device, const RunConfig& config, const RankPlace& place = {});

}  // namespace dashlm
