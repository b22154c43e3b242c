#include "optim/grouped_optimizer.h"

#include <algorithm>

#include "optim/blocks/block_state.h"

namespace dashlm {
namespace {

// Appends the lines of a member, with the names of its group.
template <class Line>
void append(std::vector<Line>& all, std::vector<Line> lines, const std::string& names) {
  for (Line& line : lines) {
    if (!names.empty()) line.group += fmt::format(" ({})", names);
    all.push_back(std::move(line));
  }
}

}  // namespace

UpdateTimes& UpdateTimes::operator+=(const UpdateTimes& other) {
  pack += other.pack;
  factors += other.factors;
  roots += other.roots;
  update += other.update;
  return *this;
}

void GroupedOptimizer::initialize(Context& context) {
  for (const Member& member : members_) member.optimizer->initialize(context);
}

void GroupedOptimizer::update(Context& context, const UpdateStep& step) {
  update_ = step.update;
  for (const Member& member : members_) member.optimizer->update(context, step);
}

std::vector<Tensor> GroupedOptimizer::state() const {
  std::vector<Tensor> all;
  for (const Member& member : members_) {
    for (Tensor& tensor : member.optimizer->state()) all.push_back(std::move(tensor));
  }
  sort_by_name(all);
  return all;
}

UpdateTimes GroupedOptimizer::times() const {
  UpdateTimes all;
  for (const Member& member : members_) all += member.optimizer->times();
  return all;
}

std::vector<StackPlan> GroupedOptimizer::plan() const {
  std::vector<StackPlan> all;
  for (const Member& member : members_) append(all, member.optimizer->plan(), member.names);
  return all;
}

bool GroupedOptimizer::statistics_due(int64_t update) const {
  return std::ranges::any_of(
      members_, [&](const Member& member) { return member.optimizer->statistics_due(update); });
}

// Those that are due.
std::vector<BlockStatistics> GroupedOptimizer::statistics(Context& context) const {
  std::vector<BlockStatistics> all;
  for (const Member& member : members_) {
    if (!member.optimizer->statistics_due(update_)) continue;
    append(all, member.optimizer->statistics(context), member.names);
  }
  return all;
}

}  // namespace dashlm
