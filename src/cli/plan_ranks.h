// The parts of `dashlm plan` for many ranks.
#pragma once

#include "cli/plan_report.h"
#include "device/gpu_models.h"

namespace dashlm {

constexpr int kMostPlannedRanks = 4096;

// The plan of each rank of a run.
std::vector<RankPlan> plan_ranks(Device& device, const RunConfig& config, int ranks);

// The time of a step on 8, 16, ... 1024 GPUs (train/step_estimate.h). `network` is in bytes/s; 0
// takes the GPU's own.
ManyRanksEstimate estimate_many_ranks(Device& device, const RunConfig& config, const GpuModel& gpu,
                                      double network);

}  // namespace dashlm
