// How long a training step would take on many GPUs, by arithmetic. docs/distributed.md has the
// formula in words.
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
// The link is NVLink within a node of 8 GPUs, else each GPU's share of the network, at 80%.
// Gradients travel while the last micro-batch's backward pass (2/3 of its time) goes on, except the
// last bucket; weights while the first micro-batch's forward pass (1/3) does, except the first
// bucket. What does not fit is exposed:
//   step = model + update + exposed reduce + exposed gather
#pragma once

#include <string>

#include "device/gpu_models.h"
#include "train/step_plan.h"

namespace dashlm {

// Of the busiest rank, in seconds.
struct StepEstimate {
  double model = 0, update = 0, reduce = 0, gather = 0;
  double exposed_reduce = 0, exposed_gather = 0;

  double total() const { return model + update + exposed_reduce + exposed_gather; }
};

// `plan` is that of the costliest of `ranks` ranks; `network` in bytes/s, 0 for the GPU's own.
StepEstimate estimate_step(const RunConfig& config, const StepPlan& plan, const GpuModel& gpu,
                           double network = 0);

// Settings of `config` that the estimate knows nothing of, in words; "" if there are none.
std::string left_out_of_estimate(const RunConfig& config);

}  // namespace dashlm
