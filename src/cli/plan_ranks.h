// The parts of `dashlm plan` for many ranks.
#pragma once

#include "config/config.h"
#include "device/gpu_models.h"
#include "train/step_plan.h"

namespace dashlm {

constexpr int kMostPlannedRanks = 4096;

// The bytes of each group of the plan.
Json memory_json(const MemoryPlan& plan);

// The blocks, bytes and messages of each rank of a run.
Json plan_ranks(Device& device, const RunConfig& config, int ranks);
void print_ranks(const Json& json);

// The time of a step on 8, 16, ... 1024 GPUs; see train/step_estimate.h.
Json estimate_many_ranks(Device& device, const RunConfig& config, const GpuModel& gpu,
                         double network);
void print_estimates(const Json& json);

// "953,223,168"
std::string with_separators(int64_t value);

}  // namespace dashlm
