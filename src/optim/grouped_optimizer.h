// Several optimizers as one, each of which updates blocks of its own: what a config with groups of
// different optimizers makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace dashlm {

class GroupedOptimizer final : public Optimizer {
 public:
  struct Member {
    std::string names;  // of its parameters, "embed, *norm"; "": all others
    std::unique_ptr<Optimizer> optimizer;
  };

  explicit GroupedOptimizer(std::vector<Member> members) : members_(std::move(members)) {}

  void initialize(Context& context) override;
  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;
  UpdateTimes times() const override;
  // What members say of their blocks, with the names of the group: "blocks 128x128 (embed)".
  std::vector<StackPlan> plan() const override;
  bool statistics_due(int64_t update) const override;
  std::vector<BlockStatistics> statistics(Context& context) const override;

 private:
  const std::vector<Member> members_;
  int64_t update_ = 0;  // the last one
};

}  // namespace dashlm
