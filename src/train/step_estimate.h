// Estimates the time of a training step on many GPUs, by arithmetic. docs/distributed.md explains
// the formula.
//
//   model    F / (0.55 · rate at train.precision)   F: FLOPs of the passes of the busiest rank
//   update   U / (e · rate) + bytes / (0.8 · memory bandwidth)
//                                                   U: FLOPs of the costliest rank's update
//            e = 0.3 of the rate at the precision of the products; eigen-decompositions reach
//            e = 0.013 of the fp32 rate. The published implementations reach both
//            (docs/reference.md, "Run times"). All products count as those of the root at its
//            `matmul`, in batches of a whole rank's blocks: see left_out_of_estimate().
//   reduce   4·E·(R-1)/R / link + buckets·log2(R)·10 µs      E: parameters, R: ranks
//   gather   w·E·(R-1)/R / link + buckets·log2(R)·10 µs      w: bytes of a weight, 2 as bf16
//
// The link is 80% of NVLink within a node of 8 GPUs, and 80% of each GPU's share of the network
// beyond. Gradients, except the last bucket, travel during the last micro-batch's backward pass,
// 2/3 of its time. Weights, except the first bucket, travel during the first micro-batch's forward
// pass, 1/3 of its time. The rest of the transfer is exposed:
//   step = model + update + exposed reduce + exposed gather
#pragma once

#include <string>

#include "device/gpu_models.h"
#include "train/step_plan.h"

namespace dashlm {

// The times of the busiest rank, in seconds.
struct StepEstimate {
  double model = 0, update = 0, reduce = 0, gather = 0;
  double exposed_reduce = 0, exposed_gather = 0;

  double total() const { return model + update + exposed_reduce + exposed_gather; }
};

// `plan` is the plan of the costliest rank. `network` is in bytes/s; 0 takes the GPU's own.
StepEstimate estimate_step(const RunConfig& config, const StepPlan& plan, const GpuModel& gpu,
                           double network = 0);

// The settings of `config` that the estimate ignores, in words; "" if there are none.
std::string left_out_of_estimate(const RunConfig& config);

}  // namespace dashlm
