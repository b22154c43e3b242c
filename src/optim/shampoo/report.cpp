// What BlockShampoo tells about itself: the lines of `dashlm plan`, and statistics for
// metrics.jsonl.
#include <algorithm>
#include <cmath>

#include "ops/core/reduce.h"
#include "ops/stacks/stack_linalg.h"
#include "optim/shampoo/block_shampoo.h"

namespace dashlm {
namespace {

struct Summary {
  double lowest = INFINITY, highest = -INFINITY, sum = 0, count = 0;

  void add(double value) {
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    sum += value;
    ++count;
  }
  double mean() const { return count > 0 ? sum / count : 0.0; }
};

// The root mean square, over the stack, of the Frobenius norms.
double typical_norm(Context& context, const Tensor& stack) {
  return std::sqrt(sum_of_squares(context, stack) / static_cast<double>(stack.dim(0)));
}

}  // namespace

// Products of blocks that are not square count by their operations, 2·r·r·c and 2·r·c·c, in units
// of 2·r·c·max(r, c).
std::vector<StackPlan> BlockShampoo::plan() const {
  std::vector<StackPlan> lines;
  const auto add = [&](const std::string& group, int64_t count, int64_t bytes, double products) {
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const StackPlan& known) { return known.group == group; });
    if (line == lines.end()) line = lines.insert(lines.end(), StackPlan{group, 0, 0, 0, 0});
    line->count += count;
    line->calls += 1;
    line->state_bytes += bytes;
    line->products += products;
  };
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const BlockStack& stack = blocks_.stacks()[i];
    const auto count = static_cast<double>(stack.blocks.size());
    const auto rows = static_cast<double>(stack.rows), cols = static_cast<double>(stack.cols);
    const double sides = (stack.left.count > 0 ? rows : 0) + (stack.right.count > 0 ? cols : 0);
    int64_t bytes = 0;
    for (const Tensor& tensor : {stacks_[i].mean, stacks_[i].variance, stacks_[i].velocity}) {
      if (tensor) bytes += tensor.bytes();
    }
    add(fmt::format("blocks {}x{}", stack.rows, stack.cols), std::ssize(stack.blocks), bytes,
        2 * count * sides / std::max(rows, cols));  // factors, then directions
  }
  for (size_t i = 0; i < factor_stacks_.size(); ++i) {
    const FactorStack& stack = blocks_.factor_stacks()[i];
    const auto count = static_cast<double>(stack.factors.size());
    add(fmt::format("factors {}{}", stack.size, stack.one_sided ? " (vectors)" : ""),
        std::ssize(stack.factors),
        factor_stacks_[i].factors.bytes() + factor_stacks_[i].roots.bytes(),
        count * inverse_root_->products(exponent_of(stack)) /
            static_cast<double>(config_.frequency));
  }
  return lines;
}

bool BlockShampoo::statistics_due(int64_t update) const {
  return config_.statistics_every > 0 && update % config_.statistics_every == 0;
}

// By power iteration; empty when planning.
std::vector<float> BlockShampoo::largest_root_eigenvalues(Context& context,
                                                          size_t factor_stack) const {
  const FactorState& state = factor_stacks_[factor_stack];
  const ArenaScope scope(context.scratch);
  const Tensor largest =
      context.scratch.take("largest eigenvalues of roots", {std::ssize(state.ids)});
  power_iteration(context, largest, state.roots,
                  {.pool = 16, .steps = 10, .seed = seed_, .block_ids = state.ids});
  if (context.planning()) return {};
  std::vector<float> host(state.ids.size());
  context.device.download(host.data(), largest.data, largest.bytes());
  return host;
}

// Iterations do not know the condition of a factor. Its largest eigenvalue is about s / margin. Its
// least eigenvalue, as far as the iteration has found it, is the largest eigenvalue of the root to
// the power -1/e.
void BlockShampoo::add_conditions(Context& context, size_t factor_stack,
                                  std::span<RootReport> reports) const {
  const ScalingConfig* scaling = config_.inverse_root.scaling();
  if (!scaling) return;
  const double order = 1 / exponent_of(blocks_.factor_stacks()[factor_stack]);
  const std::vector<float> largest = largest_root_eigenvalues(context, factor_stack);
  for (size_t i = 0; i < reports.size(); ++i) {
    const auto root = static_cast<double>(largest[i]);
    const double estimate = static_cast<double>(reports[i].scale) / scaling->margin();
    reports[i].condition = static_cast<float>(estimate * std::pow(root, order));
  }
}

std::vector<BlockStatistics> BlockShampoo::statistics(Context& context) const {
  std::vector<BlockStatistics> groups;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const BlockStack& stack = blocks_.stacks()[i];
    if (stack.left.count == 0) continue;
    const Tensor& tensor = stacks_[i].ratios;
    std::vector<float> ratios(static_cast<size_t>(tensor.elements()));
    context.device.download(ratios.data(), tensor.data, tensor.bytes());
    Summary ratio;
    for (const float value : ratios) ratio.add(value);
    groups.push_back({fmt::format("blocks {}x{}", stack.rows, stack.cols),
                      {{"count", ratio.count},
                       {"graft_ratio_min", ratio.lowest},
                       {"graft_ratio_mean", ratio.mean()},
                       {"graft_ratio_max", ratio.highest}}});
  }
  std::vector<RootReport> reports = read_reports(context.device, reports_);
  for (size_t i = 0; i < factor_stacks_.size(); ++i) {
    const FactorState& state = factor_stacks_[i];
    const auto first = static_cast<size_t>(state.first_report);
    Summary steps, residual, scale, condition;
    double failed = 0, out_of_steps = 0;
    const std::span<RootReport> own = std::span(reports).subspan(first, state.ids.size());
    add_conditions(context, i, own);
    for (const RootReport& report : own) {
      failed += report.status == RootStatus::failed ? 1 : 0;
      out_of_steps += report.status == RootStatus::out_of_steps ? 1 : 0;
      steps.add(report.steps);
      residual.add(report.residual);
      scale.add(report.scale);
      condition.add(report.condition);
    }
    BlockStatistics group = {fmt::format("factors {}", blocks_.factor_stacks()[i].size),
                             {{"count", steps.count},
                              {"factor_norm", typical_norm(context, state.factors)},
                              {"root_norm", typical_norm(context, state.roots)}}};
    const bool reported = std::all_of(state.reported.begin(), state.reported.end(),
                                      [](char known) { return known != 0; });
    if (reported) {
      group.values.insert(group.values.end(), {{"steps_mean", steps.mean()},
                                               {"residual_max", residual.highest},
                                               {"scale_min", scale.lowest},
                                               {"scale_max", scale.highest},
                                               {"condition_max", condition.highest},
                                               {"out_of_steps", out_of_steps},
                                               {"failed", failed}});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace dashlm
