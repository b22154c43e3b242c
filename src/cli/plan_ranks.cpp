#include "cli/plan_ranks.h"

#include <algorithm>
#include <iostream>
#include <numeric>

#include "dist/ownership.h"
#include "train/step_estimate.h"

namespace dashlm {
namespace {

// The largest value over the mean, for one figure of all ranks.
double imbalance_of(const Json& ranks, const char* key) {
  std::vector<double> values;
  for (const Json& rank : ranks) values.push_back(rank[key].get<double>());
  return imbalance(values);
}

void print_rank(const std::string& name, const Json& rank) {
  std::cout << fmt::format(
      "{:<12}{:>7.3f}{:>8}{:>18}{:>18}{:>18}{:>18}\n", name, rank["relative_cost"].get<double>(),
      rank["blocks"].get<int64_t>(), with_separators(rank["parameters"]),
      with_separators(rank["optimizer_bytes"]), with_separators(rank["total_bytes"]),
      with_separators(rank["bytes_sent_per_step"]));
}

// The rank with the largest, or smallest, cost.
const Json& extreme(const Json& ranks, bool most) {
  const auto less = [](const Json& a, const Json& b) {
    return a["relative_cost"] < b["relative_cost"];
  };
  return most ? *std::max_element(ranks.begin(), ranks.end(), less)
              : *std::min_element(ranks.begin(), ranks.end(), less);
}

int costliest_rank(Device& device, const RunConfig& config, int ranks) {
  const std::vector<double> costs = plan_step(device, config, {0, ranks}).cost_by_rank;
  return static_cast<int>(std::max_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

std::string with_separators(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

Json memory_json(const MemoryPlan& plan) {
  Json json = {
      {"weights", plan.weights}, {"gradients", plan.gradients}, {"shard", plan.shard},
      {"buckets", plan.buckets}, {"optimizer", plan.optimizer}, {"activations", plan.activations},
      {"scratch", plan.scratch}, {"batch", plan.batch},         {"total", plan.total()}};
  for (const char* group : {"shard", "buckets"}) {
    if (json[group] == 0) json.erase(group);  // as with a single rank
  }
  return json;
}

Json plan_ranks(Device& device, const RunConfig& config, int ranks) {
  Json list = Json::array();
  int64_t buckets = 0;
  std::vector<double> costs;  // of all ranks; any rank knows them
  for (int rank = 0; rank < ranks; ++rank) {
    const StepPlan plan = plan_step(device, config, {rank, ranks});
    buckets = plan.buckets;
    if (rank == 0) costs = plan.cost_by_rank;
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / ranks;
    list.push_back({{"rank", rank},
                    {"relative_cost", costs[static_cast<size_t>(rank)] / mean},
                    {"blocks", plan.own_blocks},
                    {"parameters", plan.own_parameters},
                    {"optimizer_bytes", plan.memory.optimizer},
                    {"total_bytes", plan.memory.total()},
                    {"bytes", memory_json(plan.memory)},
                    {"bytes_sent_per_step", plan.bytes_sent}});
  }
  return {{"count", ranks},
          {"buckets", buckets},
          {"cost_max_over_mean", imbalance_of(list, "relative_cost")},
          {"parameters_max_over_mean", imbalance_of(list, "parameters")},
          {"ranks", list}};
}

void print_ranks(const Json& json) {
  constexpr int64_t kShown = 16;
  const Json& ranks = json["ranks"];
  std::cout << fmt::format("\nshared out to {} ranks:\n", json["count"].get<int>());
  std::cout << fmt::format("\n{:<12}{:>7}{:>8}{:>18}{:>18}{:>18}{:>18}\n", "rank", "cost", "blocks",
                           "parameters", "bytes of state", "bytes in all", "sent a step");
  if (std::ssize(ranks) <= kShown) {
    for (const Json& rank : ranks) print_rank(std::to_string(rank["rank"].get<int>()), rank);
  } else {
    for (const bool most : {true, false}) {
      const Json& rank = extreme(ranks, most);
      print_rank(fmt::format("{} ({})", most ? "most" : "least", rank["rank"].get<int>()), rank);
    }
  }
  std::cout << fmt::format(
      "largest over mean: cost {:.4f}, parameters {:.4f}; blocks travel in {} buckets\n",
      json["cost_max_over_mean"].get<double>(), json["parameters_max_over_mean"].get<double>(),
      json["buckets"].get<int64_t>());
  std::cout << "bytes of the costliest rank:";
  for (const auto& [group, bytes] : extreme(ranks, true)["bytes"].items()) {
    std::cout << fmt::format(" {} {}", group, with_separators(bytes.get<int64_t>()));
  }
  std::cout << "\n";
}

Json estimate_many_ranks(Device& device, const RunConfig& config, const GpuModel& gpu,
                         double network) {
  Json lines = Json::array();
  for (int ranks = 8; ranks <= 1024; ranks *= 2) {
    const StepPlan plan = plan_step(device, config, {costliest_rank(device, config, ranks), ranks});
    const StepEstimate step = estimate_step(config, plan, gpu, network);
    const auto tokens = static_cast<double>(config.train.batch * config.model.seq_len);
    lines.push_back({{"ranks", ranks},
                     {"cost_max_over_mean", imbalance(plan.cost_by_rank)},
                     {"model_ms", 1e3 * step.model},
                     {"update_ms", 1e3 * step.update},
                     {"reduce_ms", 1e3 * step.reduce},
                     {"exposed_reduce_ms", 1e3 * step.exposed_reduce},
                     {"gather_ms", 1e3 * step.gather},
                     {"exposed_gather_ms", 1e3 * step.exposed_gather},
                     {"step_ms", 1e3 * step.total()},
                     {"tokens_per_s", tokens / step.total()}});
  }
  Json json = {{"gpu", gpu.name},
               {"network_gb_per_s", (network > 0 ? network : gpu.network) / 1e9},
               {"lines", lines}};
  if (const std::string text = left_out_of_estimate(config); !text.empty()) {
    json["leaves_out"] = text;
  }
  return json;
}

void print_estimates(const Json& json) {
  std::cout << fmt::format(
      "\nestimate for {} (8 a node, {:.0f} GB/s each to other nodes), ms a step; exposed of all\n",
      json["gpu"].get<std::string>(), json["network_gb_per_s"].get<double>());
  std::cout << fmt::format("{:>6}{:>11}{:>10}{:>10}{:>18}{:>18}{:>10}{:>14}\n", "ranks",
                           "imbalance", "model", "update", "reduce", "gather", "step", "tokens/s");
  for (const Json& line : json["lines"]) {
    const auto number = [&](const char* key) { return line[key].get<double>(); };
    std::cout << fmt::format(
        "{:>6}{:>11.3f}{:>10.1f}{:>10.1f}{:>8.1f} of {:>6.1f}{:>8.1f} of {:>6.1f}{:>10.1f}{:>14}\n",
        line["ranks"].get<int>(), number("cost_max_over_mean"), number("model_ms"),
        number("update_ms"), number("exposed_reduce_ms"), number("reduce_ms"),
        number("exposed_gather_ms"), number("gather_ms"), number("step_ms"),
        with_separators(static_cast<int64_t>(number("tokens_per_s"))));
  }
  if (json.contains("leaves_out")) {
    std::cout << fmt::format("(left out: {})\n", json["leaves_out"].get<std::string>());
  }
}

}  // namespace dashlm
