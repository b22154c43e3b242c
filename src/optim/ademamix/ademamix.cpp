#include "optim/ademamix/ademamix.h"

#include "ops/blocks/averages.h"
#include "ops/blocks/block_update.h"
#include "ops/core/convert.h"

namespace dashlm {

Ademamix::Ademamix(const AdemamixConfig& config, OptimizerParts parts)
    : config_(config),
      blocks_(std::move(parts.blocks), {.matrix_factors = false}),
      weights_(parts.weights),
      gradients_(parts.gradients) {
  for (const BlockStack& stack : blocks_.stacks()) {
    const Shape shape{std::ssize(stack.blocks), stack.rows, stack.cols};
    const auto take = [&](const TensorName& name) { return parts.arena.take(name, shape); };
    StackState state{StackPlaces::take(parts.arena, shape[0]), {}, {}, {}};
    state.fast = take("fast");
    state.slow = take("slow");
    state.variance = take("variance");
    stacks_.push_back(std::move(state));
  }
}

void Ademamix::initialize(Context& context) {
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const StackState& state = stacks_[i];
    state.places.fill(context, blocks_, blocks_.stacks()[i]);
    clear_tensors(context, {state.fast, state.slow, state.variance});
  }
}

std::vector<Tensor> Ademamix::state() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const BlockStack& stack = blocks_.stacks()[i];
    add_block_state(tensors, "fast average of ", stacks_[i].fast, blocks_, stack);
    add_block_state(tensors, "slow average of ", stacks_[i].slow, blocks_, stack);
    add_block_state(tensors, "variance of ", stacks_[i].variance, blocks_, stack);
  }
  sort_by_name(tensors);
  return tensors;
}

void Ademamix::update(Context& context, const UpdateStep& step) {
  stopwatch_.restart();
  const Stopwatch::Phase phase(stopwatch_, context.device, "update");
  for (size_t i = 0; i < stacks_.size(); ++i) update_stack(context, i, step);
}

// The move along m̂₁ + α·m₂, sized by v, is Adam's along an average m of which m̂ = that sum; so m₁
// and α·(1-β₁^t)·m₂ are added up, and the rule of the update divides by 1-β₁^t.
void Ademamix::update_stack(Context& context, size_t stack, const UpdateStep& step) {
  const BlockStack& shape = blocks_.stacks()[stack];
  const StackState& state = stacks_[stack];
  const double correction = bias_correction(config_.beta1, step.update);
  const double decay = shape.vector && !config_.decay_vectors ? 0.0 : config_.weight_decay;
  const BlockUpdate rule{
      .lr = static_cast<float>(step.lr),
      .weight_decay = static_cast<float>(decay),
      .grafting = Grafting::adam,
      .graft_eps = static_cast<float>(config_.eps),
      .mean_correction = static_cast<float>(correction),
      .variance_correction = static_cast<float>(bias_correction(config_.beta2, step.update))};
  for_batches(context, shape, [&](int64_t begin, int64_t count) {
    const auto part = [&](const Tensor& tensor) { return part_of(tensor, begin, count); };
    const Tensor fast = part(state.fast), slow = part(state.slow), variance = part(state.variance);
    const Tensor gradient = packed_gradient(context, gradients_, shape, state.places, begin, count,
                                            step.gradient_scale);
    average_in(context, fast, gradient, config_.beta1);
    average_in(context, slow, gradient, config_.beta3_at(step.update));
    average_squares_in(context, variance, gradient, config_.beta2);
    const Tensor mixed = context.scratch.take("mixed", fast.shape);
    convert(context, mixed, fast);
    update_average(context, mixed, slow, 1.0f,
                   static_cast<float>(config_.alpha_at(step.update) / correction));
    apply_block_update(context,
                       {.flat = weights_,
                        .table = part(state.places.table),
                        .direction = mixed,
                        .mean = mixed,
                        .lr_scale = part(state.places.lr_scale),
                        .ratios = context.scratch.take("ratios", {count}),
                        .variance = variance},
                       rule);
  });
}

}  // namespace dashlm
