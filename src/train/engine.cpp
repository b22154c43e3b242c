#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "dist/ownership.h"
#include "ops/reduce.h"

namespace dashlm {
namespace {

std::vector<double> costs_of(const OptimizerConfig& config, const std::vector<Block>& blocks) {
  std::vector<double> costs;
  for (const Block& block : blocks) costs.push_back(block_cost(config, block));
  return costs;
}

}  // namespace

LossSum add_up(Communicator& communicator, const LossSum& own) {
  const std::vector<double> sums =
      communicator.sum(std::vector{own.sum, static_cast<double>(own.targets)});
  return {sums[0], static_cast<int64_t>(sums[1])};
}

Engine::Engine(Device& device, const RunConfig& config, Communicator& communicator)
    : device_(device),
      config_(config),
      communicator_(communicator),
      layout_(config.model),
      blocks_(optimizer_blocks(config.optimizer, layout_)),
      owners_(share_out(costs_of(config.optimizer, blocks_), communicator.size())),
      weights_arena_(device, "weights"),
      gradients_arena_(device, "gradients"),
      shard_arena_(device, "shard"),
      bucket_arena_(device, "buckets"),
      optimizer_arena_(device, "optimizer"),
      activations_(device, "activations"),
      scratch_(device, "scratch"),
      batch_arena_(device, "batch"),
      context_{device, scratch_} {
  const std::vector<double> multipliers = lr_multipliers(layout_, config.optimizer.lr_scale);
  for (size_t i = 0; i < multipliers.size(); ++i) {
    if (multipliers[i] == 0) frozen_.push_back(layout_.parameters()[i]);
  }
  build();
  walk_through();
}

std::vector<double> Engine::cost_by_rank() const {
  return dashlm::cost_by_rank(costs_of(config_.optimizer, blocks_), owners_, communicator_.size());
}

int64_t Engine::micro_batch() const {
  const int64_t ranks = communicator_.size();
  return std::min(config_.train.micro_batch, (config_.train.batch + ranks - 1) / ranks);
}

// Takes every lasting tensor; called once to measure and once to have them.
void Engine::build() {
  std::vector<BlockPlace> places;
  for (const Block& block : blocks_) places.push_back(block.place);
  parameters_ = std::make_unique<ShardedParameters>(
      communicator_, layout_.elements(), places, owners_,
      ShardArenas{weights_arena_, gradients_arena_, shard_arena_, bucket_arena_});
  const Shape tokens{micro_batch() * config_.model.seq_len};
  tokens_ = batch_arena_.take("tokens", tokens, DType::i32);
  targets_ = batch_arena_.take("targets", tokens, DType::i32);
  losses_ = batch_arena_.take("losses", tokens);
  gradient_tensors_ = llama_tensors(layout_, config_.model, gradients());
  llama_ = std::make_unique<Llama>(context_, config_.model,
                                   llama_tensors(layout_, config_.model, weights()), batch_arena_,
                                   config_.model.seq_len);
  std::vector<Block> own;
  for (const size_t index : parameters_->own_blocks()) {
    own.push_back(blocks_[index]);
    own.back().place = parameters_->own_place(index);
  }
  optimizer_ = make_optimizer(config_.optimizer, std::move(own), parameters_->own_weights(),
                              parameters_->own_gradients(), optimizer_arena_,
                              static_cast<uint64_t>(config_.train.seed));
}

// A step in planning mode: what it takes from the arenas and how many operations it makes.
void Engine::walk_through() {
  const Share share = Share::of(config_.train.batch, communicator_.rank(), communicator_.size());
  const int64_t length = config_.model.seq_len, micro = micro_batch();
  const int64_t batches = share.size() / micro, rest = share.size() % micro;
  const Batch batch{share.size(), length, {}, {}, {}, 0};
  run_micro_batch(batch, 0, micro, 1.0f, false);
  sequence_flops_ = context_.flops / static_cast<double>(micro);
  context_.flops *= static_cast<double>(batches);  // the others are like the first
  if (rest > 0) run_micro_batch(batch, 0, rest, 1.0f, false);
  const double model_flops = context_.flops;
  update({});
  plan_.step_flops = context_.flops;
  plan_.update_flops = context_.flops - model_flops;
  evaluate({micro, length, {}, {}, {}, 0});
  plan_.weights = weights_arena_.peak_bytes();
  plan_.gradients = gradients_arena_.peak_bytes();
  plan_.shard = shard_arena_.peak_bytes();
  plan_.buckets = bucket_arena_.peak_bytes();
  plan_.optimizer = optimizer_arena_.peak_bytes();
  plan_.activations = activations_.peak_bytes();
  plan_.scratch = scratch_.peak_bytes();
  plan_.batch = batch_arena_.peak_bytes();
}

void Engine::allocate() {
  for (Arena* arena : {&weights_arena_, &gradients_arena_, &shard_arena_, &bucket_arena_,
                       &optimizer_arena_, &activations_, &scratch_, &batch_arena_}) {
    arena->commit();
  }
  build();
  parameters_->initialize(context_);
  optimizer_->initialize(context_);
}

void Engine::initialize() {
  for (size_t i = 0; i < layout_.parameters().size(); ++i) {
    const Parameter& parameter = layout_.parameters()[i];
    std::vector<float> host(static_cast<size_t>(parameter.elements()));
    initialize_parameter(parameter, i, static_cast<uint64_t>(config_.train.seed), host.data());
    const Tensor part = ParameterLayout::view(weights(), parameter);
    device_.upload(part.data, host.data(), part.bytes());
  }
  weights_were_set();
}

BatchShape Engine::upload(const Batch& batch, int64_t first, int64_t count) {
  const BatchShape shape{count, batch.seq_len};
  if (context_.planning()) return shape;
  const int64_t bytes = shape.tokens() * size_of(DType::i32);
  device_.upload(tokens_.data, batch.tokens.data() + first * batch.seq_len, bytes);
  device_.upload(targets_.data, batch.targets.data() + first * batch.seq_len, bytes);
  return shape;
}

void Engine::run_micro_batch(const Batch& batch, int64_t first, int64_t count, float loss_scale,
                             bool last) {
  const BatchShape shape = upload(batch, first, count);
  const auto part = [&](const Tensor& whole) { return whole.rows(0, shape.tokens()); };
  PassHooks hooks;
  if (!context_.planning()) {
    hooks.before_use = [&](int64_t end) { parameters_->need_weights(context_, end); };
  }
  int64_t complete_from = layout_.elements();
  if (last) {
    hooks.gradients_complete = [&](int64_t begin) {
      clear_frozen_gradients(begin, std::exchange(complete_from, begin));
      parameters_->gradients_complete(context_, begin);
    };
  }
  llama_->forward_backward(context_, {activations_, config_.train.recompute}, part(tokens_),
                           part(targets_), shape, loss_scale, gradient_tensors_, part(losses_),
                           hooks);
  loss_.sum += sum(context_, part(losses_));
}

void Engine::forward_backward(const Batch& batch) {
  loss_ = {0, batch.step_targets > 0 ? batch.step_targets : batch.scored_targets()};
  const auto scale =
      static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(1, loss_.targets)));
  device_.clear(gradients().data, gradients().bytes());
  const int64_t micro = micro_batch();
  for (int64_t first = 0; first < batch.sequences; first += micro) {
    const int64_t count = std::min(micro, batch.sequences - first);
    run_micro_batch(batch, first, count, scale, first + count == batch.sequences);
  }
  // A rank without sequences of its own takes part all the same.
  settle();
  parameters_->gradients_complete(context_, 0);
}

// So that they do not count towards the norm that gradients are clipped by.
void Engine::clear_frozen_gradients(int64_t begin, int64_t end) {
  for (const Parameter& parameter : frozen_) {
    if (parameter.offset < begin || parameter.offset >= end) continue;
    const Tensor part = ParameterLayout::view(gradients(), parameter);
    device_.clear(part.data, part.bytes());
  }
}

StepSums Engine::reduce(double flag) {
  parameters_->wait_for_gradients(context_);
  const double squares = sum_of_squares(context_, parameters_->own_gradients());
  const Timer timer;
  const std::vector<double> sums = communicator_.sum(std::vector{loss_.sum, squares, flag});
  if (communicator_.size() > 1) sums_ms_ += timer.milliseconds();
  return {LossSum{sums[0], loss_.targets}.mean(), std::sqrt(sums[1]), sums[2]};
}

double Engine::take_communication_ms() {
  return parameters_->take_milliseconds() + std::exchange(sums_ms_, 0.0);
}

void Engine::gather() {
  parameters_->start_gather(context_);
}

void Engine::update(const UpdateStep& step) {
  optimizer_->update(context_, step);
}

LossSum Engine::evaluate(const Batch& batch) {
  if (!context_.planning()) settle();
  const BatchShape shape = upload(batch, 0, batch.sequences);
  const auto part = [&](const Tensor& whole) { return whole.rows(0, shape.tokens()); };
  llama_->evaluate(context_, activations_, part(tokens_), part(targets_), shape, part(losses_));
  return {sum(context_, part(losses_)), batch.scored_targets()};
}

}  // namespace dashlm
