// The block-Shampoo step: DASH and, with other options, Distributed Shampoo (config.h).
//
// Per block, with G the clipped gradient and t counted from 1 (docs/reference.md, "The block
// step"):
//   L <- βLR·L + (1-βLR)·G·Gᵀ      R <- βLR·R + (1-βLR)·Gᵀ·G
//   V <- βgr·V + (1-βgr)·G⊙G       M̃ <- βG·M̃ + (1-βG)·G
//   at a refresh: L̄ <- L^(-e), R̄ <- R^(-e)
//   W moves along U = L̄·M̃·R̄, which gets the size of the grafting rule's update.
//
// The state takes, in bytes a parameter of a square block: M̃ and V 8, L and R 8, L̄ and R̄ 8, a
// velocity 4.
#pragma once

#include "device/stopwatch.h"
#include "optim/blocks/block_state.h"
#include "optim/inverse_root/inverse_root.h"
#include "optim/optimizer.h"
#include "optim/shampoo/config.h"

namespace dashlm {

class BlockShampoo final : public Optimizer {
 public:
  BlockShampoo(const BlockShampooConfig& config, OptimizerParts parts);

  void initialize(Context& context) override;
  void update(Context& context, const UpdateStep& step) override;
  std::vector<Tensor> state() const override;
  UpdateTimes times() const override;
  std::vector<StackPlan> plan() const override;
  bool statistics_due(int64_t update) const override;
  std::vector<BlockStatistics> statistics(Context& context) const override;

  const BlockLayout& layout() const { return blocks_; }

 private:
  // The state of one stack of N blocks (r, c).
  struct StackState {
    StackPlaces places;
    Tensor mean;      // (N, r, c): M̃
    Tensor variance;  // (N, r, c): V; adam and adagrad grafting
    Tensor velocity;  // (N, r, c): M; with momentum
    Tensor ratios;    // (N): of the last update, see ops/blocks/block_update.h
  };
  // The state of one stack of S factors of size n.
  struct FactorState {
    Tensor factors;            // (S, n, n): L and R
    Tensor roots;              // (S, n, n): L̄ and R̄
    int64_t first_report = 0;  // where its S entries of reports_ begin
    // (S): whether the reports are valid. A checkpoint holds roots, and of their reports only the
    // failures.
    std::vector<char> reported;
    std::vector<int64_t> ids;  // (S): the same for every stacking and rank
  };

  double exponent_of(const FactorStack& stack) const {
    return stack.one_sided ? config_.vector_exponent : config_.exponent;
  }

  void plan_updates(Context& context);
  void plan_refreshes(Context& context);
  void accumulate(Context& context, size_t stack, const UpdateStep& step);
  void refresh_roots(Context& context, int64_t update);
  void refresh_all(Context& context, int64_t update);
  void refresh_phase(Context& context, int64_t phase, int64_t update);
  void refresh(Context& context, const FactorRange& range, int64_t update);
  void check_failures(Context& context);
  std::vector<float> largest_root_eigenvalues(Context& context, size_t factor_stack) const;
  void add_conditions(Context& context, size_t factor_stack, std::span<RootReport> reports) const;
  void apply(Context& context, size_t stack, const UpdateStep& step);

  const BlockShampooConfig config_;
  const uint64_t seed_;
  const BlockLayout blocks_;
  Tensor weights_, gradients_;
  std::vector<StackState> stacks_;          // as blocks_.stacks()
  std::vector<FactorState> factor_stacks_;  // as blocks_.factor_stacks()
  std::unique_ptr<InverseRoot> inverse_root_;
  RootReports reports_;                 // last refresh of all stacks, one after the other
  std::vector<FactorRange> refreshed_;  // in this update
  Stopwatch stopwatch_;                 // of the last update
};

}  // namespace dashlm
