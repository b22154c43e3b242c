// The results of `dashlm plan`, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "train/step_estimate.h"
#include "train/step_plan.h"

namespace dashlm {

struct PlannedParameter {
  std::string name;
  Shape shape;
  double lr_scale = 1;
};

// One of several ranks. Its step has no cost_by_rank, which all ranks have in common.
struct RankPlan {
  double relative_cost = 1;  // of its blocks, over the mean of all ranks
  StepPlan step;
};

// One number of GPUs.
struct EstimateLine {
  int ranks = 1;
  double imbalance = 1;
  StepEstimate step;
  double tokens_per_s = 0;
};

struct ManyRanksEstimate {
  std::string gpu;
  double network = 0;  // bytes/s
  std::vector<EstimateLine> lines;
  std::string leaves_out;  // left_out_of_estimate()
};

struct PlanReport {
  StepPlan step;  // of one rank that does everything
  int64_t steps = 0, micro_batches = 0;
  int64_t step_tokens = 0;
  std::vector<PlannedParameter> parameters;   // --parameters; else none
  std::vector<RankPlan> ranks;                // --ranks, by rank; else none
  std::optional<ManyRanksEstimate> estimate;  // --gpu

  int64_t tokens() const { return step_tokens * steps; }
};

Json json_of(const PlanReport& plan);
std::string text_of(const PlanReport& plan);

}  // namespace dashlm
