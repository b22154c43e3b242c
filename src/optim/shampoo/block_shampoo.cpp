#include "optim/shampoo/block_shampoo.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "ops/blocks/block_products.h"
#include "ops/stacks/stack_linalg.h"

namespace dashlm {
namespace {

StackOptions stack_options(const BlockShampooConfig& config) {
  return {.stacking = config.stacking,
          .vector_factors = config.vectors == VectorRule::shampoo,
          .phases = config.stagger ? config.frequency : 1};
}

// Of V, which is an average with Adam's rule and a sum with Adagrad's.
double graft_beta(const BlockShampooConfig& config) {
  return config.grafting == Grafting::adam ? config.beta_graft : 1.0;
}

}  // namespace

BlockShampoo::BlockShampoo(const BlockShampooConfig& config, OptimizerParts parts)
    : config_(config),
      seed_(parts.seed),
      blocks_(std::move(parts.blocks), stack_options(config)),
      weights_(parts.weights),
      gradients_(parts.gradients),
      inverse_root_(make_inverse_root(config.inverse_root)) {
  Arena& arena = parts.arena;
  for (const BlockStack& stack : blocks_.stacks()) {
    const int64_t count = std::ssize(stack.blocks);
    const Shape shape{count, stack.rows, stack.cols};
    StackState state;
    state.places = StackPlaces::take(arena, count);
    state.ratios = arena.take("ratios", {count});
    state.mean = arena.take("mean", shape);
    if (has_variance(config.grafting)) state.variance = arena.take("variance", shape);
    if (config.momentum > 0) state.velocity = arena.take("velocity", shape);
    stacks_.push_back(std::move(state));
  }
  int64_t reports = 0;
  for (const FactorStack& stack : blocks_.factor_stacks()) {
    inverse_root_->check_exponent(exponent_of(stack));
    const int64_t count = std::ssize(stack.factors);
    FactorState state;
    state.factors = arena.take("factors", {count, stack.size, stack.size});
    state.roots = arena.take("roots", {count, stack.size, stack.size});
    state.first_report = reports;
    state.reported.assign(static_cast<size_t>(count), 0);
    reports += count;
    for (const Factor& factor : stack.factors) {
      state.ids.push_back(2 * blocks_.blocks()[factor.block].id + (factor.right ? 1 : 0));
    }
    factor_stacks_.push_back(std::move(state));
  }
  reports_ = RootReports::take(arena, reports);
}

// Averages start at zero; a root that was never computed is the identity.
void BlockShampoo::initialize(Context& context) {
  for (size_t i = 0; i < stacks_.size(); ++i) {
    stacks_[i].places.fill(context, blocks_, blocks_.stacks()[i]);
    clear_tensors(context, {stacks_[i].mean, stacks_[i].variance, stacks_[i].velocity});
  }
  for (const FactorState& state : factor_stacks_) {
    context.device.clear(state.factors.data, state.factors.bytes());
    identity_plus(context, state.roots, {1.0f}, {0.0f}, state.factors);
  }
  reports_.clear(context);
}

// Named by block.
std::vector<Tensor> BlockShampoo::state() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const BlockStack& stack = blocks_.stacks()[i];
    add_block_state(tensors, "mean of ", stacks_[i].mean, blocks_, stack);
    add_block_state(tensors, "variance of ", stacks_[i].variance, blocks_, stack);
    add_block_state(tensors, "velocity of ", stacks_[i].velocity, blocks_, stack);
  }
  for (size_t i = 0; i < factor_stacks_.size(); ++i) {
    const FactorState& state = factor_stacks_[i];
    for (size_t at = 0; at < state.ids.size(); ++at) {
      const std::string name = blocks_.name_of(blocks_.factor_stacks()[i].factors[at]);
      tensors.push_back(entry_of_stack(state.factors, at, name));
      tensors.push_back(entry_of_stack(state.roots, at, "root of " + name));
      tensors.push_back(entry_of_stack(
          reports_.failures, static_cast<size_t>(state.first_report) + at, "failures of " + name));
    }
  }
  sort_by_name(tensors);
  return tensors;
}

// The host queues all work before it looks at the reports of the roots.
void BlockShampoo::update(Context& context, const UpdateStep& step) {
  if (context.planning()) return plan_updates(context);
  stopwatch_.restart();
  refreshed_.clear();
  for (size_t i = 0; i < stacks_.size(); ++i) accumulate(context, i, step);
  {
    const Stopwatch::Phase phase(stopwatch_, context.device, "roots");
    refresh_roots(context, step.update);
  }
  {
    const Stopwatch::Phase phase(stopwatch_, context.device, "update");
    for (size_t i = 0; i < stacks_.size(); ++i) apply(context, i, step);
  }
  if (!refreshed_.empty()) check_failures(context);
}

// Scratch memory is enough for an update before `start`, for the first update with roots and for
// any later update, whatever it refreshes. FLOPs are the mean over f updates after `start`, in
// which every root is refreshed once.
void BlockShampoo::plan_updates(Context& context) {
  const int64_t first = config_.first_update();
  for (size_t i = 0; i < stacks_.size(); ++i) accumulate(context, i, {.update = first});
  plan_refreshes(context);
  for (size_t i = 0; i < stacks_.size(); ++i) apply(context, i, {.update = first});
  const double flops = context.flops;
  for (size_t i = 0; first > 1 && i < stacks_.size(); ++i) {
    apply(context, i, {.update = first - 1});
  }
  for (size_t i = 0; config_.statistics_every > 0 && i < factor_stacks_.size(); ++i) {
    largest_root_eigenvalues(context, i);
  }
  context.flops = flops;
}

// A few blocks may take more scratch memory than many, since they are shared out to threads in
// another way. So each part that `stagger` refreshes is walked through by itself.
void BlockShampoo::plan_refreshes(Context& context) {
  const int64_t first = config_.first_update();
  const double before = context.flops;
  refresh_all(context, first);
  const double all = context.flops - before;
  std::set<int64_t> phases;  // at most one for each block, however large f is
  for (const Block& block : blocks_.blocks()) {
    if (config_.stagger) phases.insert(phase_of(block, config_.frequency));
  }
  for (const int64_t phase : phases) refresh_phase(context, phase, first);
  context.flops = before + all / static_cast<double>(config_.frequency);
}

UpdateTimes BlockShampoo::times() const {
  return {.pack = stopwatch_.milliseconds("pack"),
          .factors = stopwatch_.milliseconds("factors"),
          .roots = stopwatch_.milliseconds("roots"),
          .update = stopwatch_.milliseconds("update")};
}

// Adds gradients to factors and averages.
void BlockShampoo::accumulate(Context& context, size_t stack, const UpdateStep& step) {
  const BlockStack& shape = blocks_.stacks()[stack];
  const StackState& state = stacks_[stack];
  const auto beta_factors = static_cast<float>(config_.beta_factors);
  const auto update_side = [&](const FactorRange& range, FactorSide side, int64_t begin,
                               const Tensor& gradient) {
    if (range.count == 0) return;
    const Tensor& factors = factor_stacks_[range.stack].factors;
    update_factors(context, factors.rows(range.first + begin, gradient.dim(0)), gradient, side,
                   beta_factors, new_weight(config_.beta_factors), config_.product_precision());
  };
  for_batches(context, shape, [&](int64_t begin, int64_t count) {
    const Tensor gradient = [&] {
      const Stopwatch::Phase phase(stopwatch_, context.device, "pack");
      return packed_gradient(context, gradients_, shape, state.places, begin, count,
                             step.gradient_scale);
    }();
    const Stopwatch::Phase phase(stopwatch_, context.device, "factors");
    update_side(shape.left, FactorSide::left, begin, gradient);
    update_side(shape.right, FactorSide::right, begin, gradient);
    average_in(context, part_of(state.mean, begin, count), gradient, config_.beta_g);
    if (has_variance(config_.grafting)) {
      average_squares_in(context, part_of(state.variance, begin, count), gradient,
                         graft_beta(config_));
    }
  });
}

// Refreshes all roots at the first preconditioned update. Later it refreshes all roots every f
// updates, or a part of them at each update.
void BlockShampoo::refresh_roots(Context& context, int64_t update) {
  const int64_t first = config_.first_update(), frequency = config_.frequency;
  if (update == first) {
    refresh_all(context, update);
  } else if (update > first && (config_.stagger || update % frequency == 0)) {
    refresh_phase(context, config_.stagger ? update % frequency : 0, update);
  }
}

void BlockShampoo::refresh_all(Context& context, int64_t update) {
  for (size_t i = 0; i < factor_stacks_.size(); ++i) {
    refresh(context, {i, 0, std::ssize(factor_stacks_[i].ids)}, update);
  }
}

void BlockShampoo::refresh_phase(Context& context, int64_t phase, int64_t update) {
  for (const FactorRange& range : blocks_.factors_of_phase(phase)) refresh(context, range, update);
}

void BlockShampoo::refresh(Context& context, const FactorRange& range, int64_t update) {
  FactorState& state = factor_stacks_[range.stack];
  const auto first = static_cast<size_t>(range.first), count = static_cast<size_t>(range.count);
  if (!context.planning()) std::fill_n(state.reported.begin() + range.first, range.count, 1);
  const Tensor factors = state.factors.rows(range.first, range.count);
  const Tensor roots = state.roots.rows(range.first, range.count);
  inverse_root_->compute(
      context,
      {.factors = factors,
       .roots = roots,
       .exponent = exponent_of(blocks_.factor_stacks()[range.stack]),
       .factor_scale =
           config_.factor_bias_correction ? bias_correction(config_.beta_factors, update) : 1.0,
       .block_ids = std::span(state.ids).subspan(first, count),
       .seed = seed_,
       .step = update},
      reports_.rows(state.first_report + range.first, range.count));
  refreshed_.push_back(range);
}

// Waits for the device.
void BlockShampoo::check_failures(Context& context) {
  std::vector<int32_t> failures(static_cast<size_t>(reports_.failures.elements()));
  context.device.download(failures.data(), reports_.failures.data, reports_.failures.bytes());
  for (const FactorRange& range : refreshed_) {
    const int64_t first = factor_stacks_[range.stack].first_report;
    for (int64_t at = range.first; at < range.first + range.count; ++at) {
      const int32_t in_a_row = failures[static_cast<size_t>(first + at)];
      if (in_a_row == 0) continue;
      const FactorStack& stack = blocks_.factor_stacks()[range.stack];
      const std::string name = blocks_.name_of(stack.factors[static_cast<size_t>(at)]);
      spdlog::warn("{}: no inverse root; its previous one is kept ({} in a row)", name, in_a_row);
      if (in_a_row >= config_.max_failures) {
        throw Error(ExitCode::diverged,
                    fmt::format("{}: its inverse root failed {} times in a row; lower train.lr, or "
                                "raise optimizer.inverse_root.ridge",
                                name, in_a_row));
      }
    }
  }
}

// Computes directions from averages and roots, and moves the weights along them.
void BlockShampoo::apply(Context& context, size_t stack, const UpdateStep& step) {
  const BlockStack& shape = blocks_.stacks()[stack];
  const StackState& state = stacks_[stack];
  const bool preconditioned = shape.left.count > 0 && step.update >= config_.first_update();
  const double decay = shape.vector && !config_.decay_vectors ? 0.0 : config_.weight_decay;
  const MatmulPrecision precision = config_.product_precision();
  const BlockUpdate rule{
      .preconditioned = preconditioned,
      .lr = static_cast<float>(step.lr),
      .weight_decay = static_cast<float>(decay),
      .grafting = config_.grafting,
      .graft_eps = static_cast<float>(config_.graft_eps),
      .mean_correction = static_cast<float>(bias_correction(config_.beta_g, step.update)),
      .variance_correction = static_cast<float>(bias_correction(graft_beta(config_), step.update)),
      .momentum = static_cast<float>(config_.momentum),
      .nesterov = config_.nesterov,
      .decay_in_momentum = config_.decay_in_momentum};
  for_batches(context, shape, [&](int64_t begin, int64_t count) {
    const auto part = [&](const Tensor& tensor) { return part_of(tensor, begin, count); };
    const auto roots = [&](const FactorRange& range) {
      return factor_stacks_[range.stack].roots.rows(range.first + begin, count);
    };
    const Tensor mean = part(state.mean);
    const Tensor direction = context.scratch.take("direction", mean.shape);
    if (preconditioned && shape.right.count > 0) {
      const Tensor left = context.scratch.take("left", mean.shape);
      multiply_blocks(context, left, roots(shape.left), mean, precision);
      multiply_blocks(context, direction, left, roots(shape.right), precision);
    } else if (preconditioned) {
      multiply_blocks(context, direction, roots(shape.left), mean, precision);
    }
    apply_block_update(context,
                       {.flat = weights_,
                        .table = part(state.places.table),
                        .direction = direction,
                        .mean = mean,
                        .lr_scale = part(state.places.lr_scale),
                        .ratios = part(state.ratios),
                        .variance = part(state.variance),
                        .velocity = part(state.velocity)},
                       rule);
  });
}

}  // namespace dashlm
