#include "cli/plan_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "dist/ownership.h"

namespace dashlm {
namespace {

int costliest_rank(Device& device, const RunConfig& config, int ranks) {
  const std::vector<double> costs = plan_step(device, config, {0, ranks}).cost_by_rank;
  return static_cast<int>(std::max_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

std::vector<RankPlan> plan_ranks(Device& device, const RunConfig& config, int ranks) {
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < ranks; ++rank) {
    StepPlan step = plan_step(device, config, {rank, ranks});
    const std::vector<double> costs = std::exchange(step.cost_by_rank, {});
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / ranks;
    plans.push_back({costs[static_cast<size_t>(rank)] / mean, std::move(step)});
  }
  return plans;
}

ManyRanksEstimate estimate_many_ranks(Device& device, const RunConfig& config, const GpuModel& gpu,
                                      double network) {
  ManyRanksEstimate estimate{gpu.name, network > 0 ? network : gpu.network, {}, {}};
  const auto tokens = static_cast<double>(config.train.batch * config.model.seq_len);
  for (int ranks = 8; ranks <= 1024; ranks *= 2) {
    const StepPlan plan = plan_step(device, config, {costliest_rank(device, config, ranks), ranks});
    const StepEstimate step = estimate_step(config, plan, gpu, network);
    estimate.lines.push_back({ranks, imbalance(plan.cost_by_rank), step, tokens / step.total()});
  }
  estimate.leaves_out = left_out_of_estimate(config);
  return estimate;
}

}  // namespace dashlm
