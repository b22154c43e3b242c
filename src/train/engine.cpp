#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/reduce.h"

namespace dashlm {

Engine::Engine(Device& device, const RunConfig& config)
    : device_(device),
      config_(config),
      layout_(config.model),
      weights_arena_(device, "weights"),
      gradients_arena_(device, "gradients"),
      optimizer_arena_(device, "optimizer"),
      activations_(device, "activations"),
      scratch_(device, "scratch"),
      batch_arena_(device, "batch"),
      context_{device, scratch_} {
  build();
  walk_through();
}

// Takes every lasting tensor; called once to measure and once to have them.
void Engine::build() {
  const Shape flat{layout_.elements()};
  const Shape tokens{config_.train.micro_batch * config_.model.seq_len};
  weights_ = weights_arena_.take("weights", flat);
  gradients_ = gradients_arena_.take("gradients", flat);
  tokens_ = batch_arena_.take("tokens", tokens, DType::i32);
  targets_ = batch_arena_.take("targets", tokens, DType::i32);
  losses_ = batch_arena_.take("losses", tokens);
  gradient_tensors_ = llama_tensors(layout_, config_.model, gradients_);
  llama_ = std::make_unique<Llama>(context_, config_.model,
                                   llama_tensors(layout_, config_.model, weights_), batch_arena_,
                                   config_.model.seq_len);
  optimizer_ = make_optimizer(config_.optimizer, layout_, weights_, gradients_, optimizer_arena_,
                              static_cast<uint64_t>(config_.train.seed));
}

// A step in planning mode: what it takes from the arenas and how many operations it makes.
void Engine::walk_through() {
  const int64_t length = config_.model.seq_len, micro = config_.train.micro_batch;
  const int64_t batches = config_.train.batch / micro, rest = config_.train.batch % micro;
  const Batch batch{config_.train.batch, length, {}, {}, {}};
  micro_batch(batch, 0, micro, 1.0f);
  context_.flops *= static_cast<double>(batches);  // the others are like the first
  if (rest > 0) micro_batch(batch, 0, rest, 1.0f);
  const double model_flops = context_.flops;
  update({});
  plan_.step_flops = context_.flops;
  plan_.update_flops = context_.flops - model_flops;
  evaluate({micro, length, {}, {}, {}});
  plan_.weights = weights_arena_.peak_bytes();
  plan_.gradients = gradients_arena_.peak_bytes();
  plan_.optimizer = optimizer_arena_.peak_bytes();
  plan_.activations = activations_.peak_bytes();
  plan_.scratch = scratch_.peak_bytes();
  plan_.batch = batch_arena_.peak_bytes();
}

void Engine::allocate() {
  for (Arena* arena : {&weights_arena_, &gradients_arena_, &optimizer_arena_, &activations_,
                       &scratch_, &batch_arena_}) {
    arena->commit();
  }
  build();
  optimizer_->initialize(context_);
}

void Engine::initialize() {
  for (size_t i = 0; i < layout_.parameters().size(); ++i) {
    const Parameter& parameter = layout_.parameters()[i];
    std::vector<float> host(static_cast<size_t>(parameter.elements()));
    initialize_parameter(parameter, i, static_cast<uint64_t>(config_.train.seed), host.data());
    const Tensor part = ParameterLayout::view(weights_, parameter);
    device_.upload(part.data, host.data(), part.bytes());
  }
}

BatchShape Engine::upload(const Batch& batch, int64_t first, int64_t count) {
  const BatchShape shape{count, batch.seq_len};
  if (context_.planning()) return shape;
  const int64_t bytes = shape.tokens() * size_of(DType::i32);
  device_.upload(tokens_.data, batch.tokens.data() + first * batch.seq_len, bytes);
  device_.upload(targets_.data, batch.targets.data() + first * batch.seq_len, bytes);
  return shape;
}

LossSum Engine::micro_batch(const Batch& batch, int64_t first, int64_t count, float loss_scale) {
  const BatchShape shape = upload(batch, first, count);
  const auto part = [&](const Tensor& whole) { return whole.rows(0, shape.tokens()); };
  llama_->forward_backward(context_, {activations_, config_.train.recompute}, part(tokens_),
                           part(targets_), shape, loss_scale, gradient_tensors_, part(losses_));
  return {sum(context_, part(losses_)), 0};
}

double Engine::forward_backward(const Batch& batch) {
  LossSum loss{0, batch.scored_targets()};
  const auto scale =
      static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(1, loss.targets)));
  device_.clear(gradients_.data, gradients_.bytes());
  const int64_t micro = config_.train.micro_batch;
  for (int64_t first = 0; first < batch.sequences; first += micro) {
    loss += micro_batch(batch, first, std::min(micro, batch.sequences - first), scale);
  }
  clear_frozen_gradients();
  return loss.mean();
}

// So that they do not count towards the norm that gradients are clipped by.
void Engine::clear_frozen_gradients() {
  const std::vector<double> multipliers = lr_multipliers(layout_, config_.optimizer.lr_scale);
  for (size_t i = 0; i < multipliers.size(); ++i) {
    if (multipliers[i] != 0) continue;
    const Tensor part = ParameterLayout::view(gradients_, layout_.parameters()[i]);
    device_.clear(part.data, part.bytes());
  }
}

double Engine::gradient_norm() {
  return std::sqrt(sum_of_squares(context_, gradients_));
}

void Engine::update(const UpdateStep& step) {
  optimizer_->update(context_, step);
}

LossSum Engine::evaluate(const Batch& batch) {
  const BatchShape shape = upload(batch, 0, batch.sequences);
  const auto part = [&](const Tensor& whole) { return whole.rows(0, shape.tokens()); };
  llama_->evaluate(context_, activations_, part(tokens_), part(targets_), shape, part(losses_));
  return {sum(context_, part(losses_)), batch.scored_targets()};
}

}  // namespace dashlm
