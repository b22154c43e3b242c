#include "cli/plan_report.h"

#include <algorithm>

#include "cli/report.h"
#include "dist/ownership.h"

namespace dashlm {
namespace {

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

double tokens_per_parameter(const PlanReport& plan) {
  return share(plan.tokens(), plan.step.parameters);
}

double flops_per_token(const PlanReport& plan) {
  return plan.step.flops / static_cast<double>(plan.step_tokens);
}

double cost_of(const RankPlan& rank) {
  return rank.relative_cost;
}

double parameters_of(const RankPlan& rank) {
  return static_cast<double>(rank.step.own_parameters);
}

// The largest value over the mean, for one figure of all ranks.
double imbalance_of(const std::vector<RankPlan>& ranks, double (*figure)(const RankPlan&)) {
  std::vector<double> values;
  for (const RankPlan& rank : ranks) values.push_back(figure(rank));
  return imbalance(values);
}

// The bytes of each group, without the groups that a single rank does not have.
std::vector<std::pair<const char*, int64_t>> groups_of(const MemoryPlan& plan) {
  std::vector<std::pair<const char*, int64_t>> groups = {
      {"weights", plan.weights}, {"gradients", plan.gradients}, {"shard", plan.shard},
      {"buckets", plan.buckets}, {"optimizer", plan.optimizer}, {"activations", plan.activations},
      {"scratch", plan.scratch}, {"batch", plan.batch},         {"total", plan.total()}};
  std::erase_if(groups, [](const auto& group) {
    const std::string name = group.first;
    return group.second == 0 && (name == "shard" || name == "buckets");
  });
  return groups;
}

// --- JSON

Json json_of(const MemoryPlan& plan) {
  Json json;
  for (const auto& [group, bytes] : groups_of(plan)) json[group] = bytes;
  return json;
}

Json dims_of(const Shape& shape) {
  Json dims = Json::array();
  for (int k = 0; k < shape.rank(); ++k) dims.push_back(shape[k]);
  return dims;
}

Json json_of(const PlannedParameter& parameter) {
  return {{"name", parameter.name},
          {"shape", dims_of(parameter.shape)},
          {"elements", parameter.shape.elements()},
          {"lr_scale", parameter.lr_scale}};
}

Json json_of(const StackPlan& stack) {
  return {{"group", stack.group},
          {"count", stack.count},
          {"calls", stack.calls},
          {"state_bytes", stack.state_bytes},
          {"products_per_update", stack.products}};
}

Json json_of(const RankPlan& plan) {
  const StepPlan& rank = plan.step;
  return {{"rank", rank.place.rank},
          {"relative_cost", plan.relative_cost},
          {"blocks", rank.own_blocks},
          {"parameters", rank.own_parameters},
          {"optimizer_bytes", rank.memory.optimizer},
          {"total_bytes", rank.memory.total()},
          {"bytes", json_of(rank.memory)},
          {"bytes_sent_per_step", rank.bytes_sent}};
}

Json json_of(const EstimateLine& line) {
  return {{"ranks", line.ranks},
          {"cost_max_over_mean", line.imbalance},
          {"model_ms", 1e3 * line.step.model},
          {"update_ms", 1e3 * line.step.update},
          {"reduce_ms", 1e3 * line.step.reduce},
          {"exposed_reduce_ms", 1e3 * line.step.exposed_reduce},
          {"gather_ms", 1e3 * line.step.gather},
          {"exposed_gather_ms", 1e3 * line.step.exposed_gather},
          {"step_ms", 1e3 * line.step.total()},
          {"tokens_per_s", line.tokens_per_s}};
}

template <class Part>
Json list_of(const std::vector<Part>& parts) {
  Json list = Json::array();
  for (const Part& part : parts) list.push_back(json_of(part));
  return list;
}

Json json_of_ranks(const std::vector<RankPlan>& ranks) {
  return {{"count", ranks.size()},
          {"buckets", ranks.front().step.buckets},
          {"cost_max_over_mean", imbalance_of(ranks, cost_of)},
          {"parameters_max_over_mean", imbalance_of(ranks, parameters_of)},
          {"ranks", list_of(ranks)}};
}

Json json_of(const ManyRanksEstimate& estimate) {
  Json json = {{"gpu", estimate.gpu},
               {"network_gb_per_s", estimate.network / 1e9},
               {"lines", list_of(estimate.lines)}};
  if (!estimate.leaves_out.empty()) json["leaves_out"] = estimate.leaves_out;
  return json;
}

// --- Text

std::string row(const std::string& name, const std::string& value) {
  return fmt::format("{:<24}{:>24}\n", name, value);
}

std::string text_of(const std::vector<PlannedParameter>& parameters) {
  constexpr const char* kRow = "{:<24}{:>24}{:>24}{:>12}\n";
  std::string text = fmt::format(kRow, "parameter", "shape", "elements", "lr_scale");
  for (const PlannedParameter& parameter : parameters) {
    text += fmt::format(kRow, parameter.name, dims_of(parameter.shape).dump(),
                        with_separators(parameter.shape.elements()), parameter.lr_scale);
  }
  return text + "\n";
}

std::string text_of(const std::vector<StackPlan>& stacks) {
  std::string text = fmt::format("\n{:<24}{:>8}{:>8}{:>20}{:>20}\n", "optimizer", "count", "calls",
                                 "bytes of state", "products a step");
  for (const StackPlan& stack : stacks) {
    text += fmt::format("{:<24}{:>8}{:>8}{:>20}{:>20.1f}\n", stack.group, stack.count, stack.calls,
                        with_separators(stack.state_bytes), stack.products);
  }
  return text + "(products and GFLOP of a step: the mean of those after optimizer.start)\n\n";
}

std::string text_of(const std::string& name, const RankPlan& plan) {
  const StepPlan& rank = plan.step;
  return fmt::format("{:<12}{:>7.3f}{:>8}{:>18}{:>18}{:>18}{:>18}\n", name, plan.relative_cost,
                     rank.own_blocks, with_separators(rank.own_parameters),
                     with_separators(rank.memory.optimizer), with_separators(rank.memory.total()),
                     with_separators(rank.bytes_sent));
}

std::string text_of_ranks(const std::vector<RankPlan>& ranks) {
  constexpr int64_t kShown = 16;
  const RankPlan& most = *std::ranges::max_element(ranks, {}, cost_of);
  const RankPlan& least = *std::ranges::min_element(ranks, {}, cost_of);
  std::string text =
      fmt::format("\nshared out to {} ranks:\n", ranks.size()) +
      fmt::format("\n{:<12}{:>7}{:>8}{:>18}{:>18}{:>18}{:>18}\n", "rank", "cost", "blocks",
                  "parameters", "bytes of state", "bytes in all", "sent a step");
  if (std::ssize(ranks) <= kShown) {
    for (const RankPlan& rank : ranks) text += text_of(std::to_string(rank.step.place.rank), rank);
  } else {
    text += text_of(fmt::format("most ({})", most.step.place.rank), most);
    text += text_of(fmt::format("least ({})", least.step.place.rank), least);
  }
  text += fmt::format(
      "largest over mean: cost {:.4f}, parameters {:.4f}; blocks travel in {} buckets\n",
      imbalance_of(ranks, cost_of), imbalance_of(ranks, parameters_of), ranks.front().step.buckets);
  text += "bytes of the costliest rank:";
  for (const auto& [group, bytes] : groups_of(most.step.memory)) {
    text += fmt::format(" {} {}", group, with_separators(bytes));
  }
  return text + "\n";
}

std::string text_of(const EstimateLine& line) {
  const StepEstimate& step = line.step;
  return fmt::format(
      "{:>6}{:>11.3f}{:>10.1f}{:>10.1f}{:>8.1f} of {:>6.1f}{:>8.1f} of {:>6.1f}{:>10.1f}{:>14}\n",
      line.ranks, line.imbalance, 1e3 * step.model, 1e3 * step.update, 1e3 * step.exposed_reduce,
      1e3 * step.reduce, 1e3 * step.exposed_gather, 1e3 * step.gather, 1e3 * step.total(),
      with_separators(static_cast<int64_t>(line.tokens_per_s)));
}

std::string text_of(const ManyRanksEstimate& estimate) {
  std::string text = fmt::format(
      "\nestimate for {} (8 a node, {:.0f} GB/s each to other nodes), ms a step; exposed of all\n",
      estimate.gpu, estimate.network / 1e9);
  text += fmt::format("{:>6}{:>11}{:>10}{:>10}{:>18}{:>18}{:>10}{:>14}\n", "ranks", "imbalance",
                      "model", "update", "reduce", "gather", "step", "tokens/s");
  for (const EstimateLine& line : estimate.lines) text += text_of(line);
  if (!estimate.leaves_out.empty()) text += fmt::format("(left out: {})\n", estimate.leaves_out);
  return text;
}

}  // namespace

Json json_of(const PlanReport& plan) {
  Json json = {{"parameters", plan.step.parameters},
               {"bytes", json_of(plan.step.memory)},
               {"steps", plan.steps},
               {"micro_batches", plan.micro_batches},
               {"tokens_per_step", plan.step_tokens},
               {"tokens", plan.tokens()},
               {"tokens_per_parameter", tokens_per_parameter(plan)}};
  if (!plan.step.stacks.empty()) json["stacks"] = list_of(plan.step.stacks);
  json["flops_per_step"] = plan.step.flops;
  json["flops_per_token"] = flops_per_token(plan);
  if (!plan.parameters.empty()) json["parameter_list"] = list_of(plan.parameters);
  if (!plan.ranks.empty()) json["ranks"] = json_of_ranks(plan.ranks);
  if (plan.estimate) json["estimate"] = json_of(*plan.estimate);
  return json;
}

std::string text_of(const PlanReport& plan) {
  std::string text;
  if (!plan.parameters.empty()) text += text_of(plan.parameters);
  if (!plan.ranks.empty()) text += "if one rank did everything:\n\n";
  text += row("parameters", with_separators(plan.step.parameters));
  for (const auto& [group, bytes] : groups_of(plan.step.memory)) {
    text += row(fmt::format("bytes: {}", group), with_separators(bytes));
  }
  text += row("", fmt::format("= {:.2f} GiB", share(plan.step.memory.total(), 1 << 30)));
  if (!plan.step.stacks.empty()) text += text_of(plan.step.stacks);
  text += row("steps", with_separators(plan.steps));
  text += row("micro-batches a step", with_separators(plan.micro_batches));
  text += row("tokens a step", with_separators(plan.step_tokens));
  text += row("tokens", with_separators(plan.tokens()));
  text += row("tokens a parameter", fmt::format("{:.2f}", tokens_per_parameter(plan)));
  text += row("GFLOP a step", fmt::format("{:.3f}", plan.step.flops / 1e9));
  text += row("GFLOP a token", fmt::format("{:.6f}", flops_per_token(plan) / 1e9));
  if (!plan.ranks.empty()) text += text_of_ranks(plan.ranks);
  if (plan.estimate) text += text_of(*plan.estimate);
  return text;
}

}  // namespace dashlm
