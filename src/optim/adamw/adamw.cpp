#include "optim/adamw/adamw.h"

#include "ops/blocks/adamw.h"

namespace dashlm {

Adamw::Adamw(const AdamwConfig& config, OptimizerParts parts)
    : config_(config),
      blocks_(std::move(parts.blocks), {.matrix_factors = false}),
      weights_(parts.weights),
      gradients_(parts.gradients) {
  for (const BlockStack& stack : blocks_.stacks()) {
    const Shape shape{std::ssize(stack.blocks), stack.rows, stack.cols};
    stacks_.push_back({StackPlaces::take(parts.arena, shape[0]), parts.arena.take("moment1", shape),
                       parts.arena.take("moment2", shape)});
  }
}

void Adamw::initialize(Context& context) {
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const StackState& state = stacks_[i];
    state.places.fill(context, blocks_, blocks_.stacks()[i]);
    clear_tensors(context, {state.moment1, state.moment2});
  }
}

std::vector<Tensor> Adamw::state() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    add_block_state(tensors, "moment1 of ", stacks_[i].moment1, blocks_, blocks_.stacks()[i]);
    add_block_state(tensors, "moment2 of ", stacks_[i].moment2, blocks_, blocks_.stacks()[i]);
  }
  sort_by_name(tensors);
  return tensors;
}

void Adamw::update(Context& context, const UpdateStep& step) {
  stopwatch_.restart();
  const Stopwatch::Phase phase(stopwatch_, context.device, "update");
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const StackState& state = stacks_[i];
    const double decay = blocks_.stacks()[i].vector ? 0.0 : config_.weight_decay;
    adamw(context,
          {.weights = weights_,
           .gradients = gradients_,
           .table = state.places.table,
           .lr_scale = state.places.lr_scale,
           .moment1 = state.moment1,
           .moment2 = state.moment2},
          {.lr = static_cast<float>(step.lr),
           .beta1 = static_cast<float>(config_.beta1),
           .beta2 = static_cast<float>(config_.beta2),
           .eps = static_cast<float>(config_.eps),
           .weight_decay = static_cast<float>(decay),
           .gradient_scale = static_cast<float>(step.gradient_scale),
           .step = step.update});
  }
}

}  // namespace dashlm
