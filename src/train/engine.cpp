#include "train/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "device/gpu_models.h"
#include "dist/ownership.h"
#include "ops/core/reduce.h"

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
    : Engine(device, config, communicator.place(), &communicator) {}

StepPlan plan_step(Device& device, const RunConfig& config, const RankPlace& place) {
  return Engine(device, config, place, nullptr).plan();
}

Engine::Engine(Device& device, const RunConfig& config, const RankPlace& place,
               Communicator* communicator)
    : device_(device),
      config_(config),
      place_(place),
      communicator_(communicator),
      layout_(llama_parameters(config.model)),
      blocks_(optimizer_blocks(config.optimizer, layout_)),
      owners_(share_out(costs_of(config.optimizer, blocks_), place.ranks)),
      weights_arena_(device, "weights"),
      gradients_arena_(device, "gradients"),
      shard_arena_(device, "shard"),
      bucket_arena_(device, "buckets"),
      optimizer_arena_(device, "optimizer"),
      activations_(device, "activations"),
      scratch_(device, "scratch"),
      batch_arena_(device, "batch"),
      context_{device, scratch_} {
  const std::vector<double> multipliers = lr_multipliers(config.optimizer, layout_);
  for (size_t i = 0; i < multipliers.size(); ++i) {
    if (multipliers[i] == 0) frozen_.push_back(layout_.parameters()[i]);
  }
  plan_.place = place;
  plan_.micro_batch = std::min(config.train.micro_batch, most_sequences());
  build();
  walk_through();
}

int64_t Engine::most_sequences() const {
  return (config_.train.batch + place_.ranks - 1) / place_.ranks;
}

// Takes every lasting tensor. Called once to measure, and once with memory.
void Engine::build() {
  std::vector<BlockPlace> places;
  for (const Block& block : blocks_) places.push_back(block.place);
  parameters_ = std::make_unique<ShardedParameters>(
      place_, communicator_, layout_.elements(), dtype_of(config_.train.precision), places, owners_,
      ShardArenas{weights_arena_, gradients_arena_, shard_arena_, bucket_arena_});
  const int64_t length = config_.model.seq_len;
  tokens_ = batch_arena_.take("tokens", {most_sequences() * length}, DType::i32);
  targets_ = batch_arena_.take("targets", {most_sequences() * length}, DType::i32);
  losses_ = batch_arena_.take("losses", {micro_batch() * length});
  totals_ = batch_arena_.take("totals", {2}, DType::f64);
  gradient_tensors_ = llama_tensors(layout_, config_.model, gradients());
  llama_ = std::make_unique<Llama>(context_, config_.model,
                                   llama_tensors(layout_, config_.model, weights()), batch_arena_,
                                   length, dtype_of(config_.train.residual));
  optimizer_ =
      make_optimizer(config_.optimizer, {.blocks = own_blocks(),
                                         .weights = parameters_->own_weights(),
                                         .gradients = parameters_->own_gradients(),
                                         .arena = optimizer_arena_,
                                         .seed = static_cast<uint64_t>(config_.train.seed)});
}

// Walks through a step in planning mode, which counts its memory and its operations.
void Engine::walk_through() {
  const Share share = Share::of(config_.train.batch, place_.rank, place_.ranks);
  const int64_t length = config_.model.seq_len, micro = micro_batch();
  const int64_t batches = share.size() / micro, rest = share.size() % micro;
  run_micro_batch(0, micro, 1.0f, false);
  plan_.sequence_flops = context_.flops / static_cast<double>(micro);
  context_.flops *= static_cast<double>(batches);  // the others are like the first
  if (rest > 0) run_micro_batch(0, rest, 1.0f, false);
  const double model_flops = context_.flops;
  add_sum_of_squares(context_, totals_.rows(1, 1), parameters_->own_gradients());
  update({});
  plan_.flops = context_.flops;
  plan_.update_flops = context_.flops - model_flops;
  evaluate({micro, length, {}, {}, {}, 0});
  plan_.memory = {.weights = weights_arena_.peak_bytes(),
                  .gradients = gradients_arena_.peak_bytes(),
                  .shard = shard_arena_.peak_bytes(),
                  .buckets = bucket_arena_.peak_bytes(),
                  .optimizer = optimizer_arena_.peak_bytes(),
                  .activations = activations_.peak_bytes(),
                  .scratch = scratch_.peak_bytes(),
                  .batch = batch_arena_.peak_bytes()};
  plan_.parameters = layout_.elements();
  plan_.own_parameters = parameters_->own_weights().elements();
  plan_.own_blocks = std::ssize(parameters_->own_blocks());
  plan_.buckets = parameters_->bucket_count();
  plan_.bytes_sent = parameters_->bytes_per_step();
  plan_.cost_by_rank = cost_by_rank(costs_of(config_.optimizer, blocks_), owners_, place_.ranks);
  plan_.stacks = optimizer_->plan();
}

void Engine::allocate() {
  for (Arena* arena : {&weights_arena_, &gradients_arena_, &shard_arena_, &bucket_arena_,
                       &optimizer_arena_, &activations_, &scratch_, &batch_arena_}) {
    arena->commit();
  }
  build();
  host_batch_ = std::make_unique<HostBuffer>(device_, tokens_.bytes() + targets_.bytes());
  parameters_->initialize(context_);
  optimizer_->initialize(context_);
}

void Engine::initialize() {
  constexpr int64_t kPiece = 1 << 20;  // elements on the host at a time: 4 MiB
  std::vector<float> host(kPiece);
  for (size_t i = 0; i < layout_.parameters().size(); ++i) {
    const Parameter& parameter = layout_.parameters()[i];
    float* place = ParameterLayout::view(staging(), parameter).f32();
    for (int64_t first = 0; first < parameter.elements(); first += kPiece) {
      const int64_t count = std::min(kPiece, parameter.elements() - first);
      const std::span<float> piece(host.data(), static_cast<size_t>(count));
      initialize_parameter(parameter, i, static_cast<uint64_t>(config_.train.seed), first, piece);
      device_.upload(place + first, piece.data(), static_cast<int64_t>(piece.size_bytes()));
    }
  }
  weights_were_set();
}

void Engine::upload(const Batch& batch) {
  if (context_.planning()) return;
  const auto bytes = batch.sequences * batch.seq_len * size_of(DType::i32);
  char *tokens = host_batch_->data(), *targets = tokens + tokens_.bytes();
  std::memcpy(tokens, batch.tokens.data(), static_cast<size_t>(bytes));
  std::memcpy(targets, batch.targets.data(), static_cast<size_t>(bytes));
  device_.start_upload(tokens_.data, tokens, bytes);
  device_.start_upload(targets_.data, targets, bytes);
}

Tensor Engine::part(const Tensor& tokens, int64_t first, int64_t count) const {
  return tokens.rows(first * config_.model.seq_len, count * config_.model.seq_len);
}

void Engine::run_micro_batch(int64_t first, int64_t count, float loss_scale, bool last) {
  const BatchShape shape{count, config_.model.seq_len};
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
  const Tensor losses = part(losses_, 0, count);
  llama_->forward_backward(context_, {activations_, config_.train.recompute},
                           part(tokens_, first, count), part(targets_, first, count), shape,
                           loss_scale, gradient_tensors_, losses, hooks);
  add_sum(context_, totals_.rows(0, 1), losses);
}

void Engine::forward_backward(const Batch& batch) {
  const DeviceRange range(device_, "forward and backward");
  step_targets_ = batch.step_targets > 0 ? batch.step_targets : batch.scored_targets();
  const auto scale =
      static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(1, step_targets_)));
  upload(batch);
  device_.clear(totals_.data, totals_.bytes());
  device_.clear(gradients().data, gradients().bytes());
  const int64_t micro = micro_batch();
  for (int64_t first = 0; first < batch.sequences; first += micro) {
    const int64_t count = std::min(micro, batch.sequences - first);
    run_micro_batch(first, count, scale, first + count == batch.sequences);
  }
  // A rank without sequences of its own takes part all the same.
  settle();
  parameters_->gradients_complete(context_, 0);
}

// Frozen parameters then do not count towards the norm by which gradients are clipped.
void Engine::clear_frozen_gradients(int64_t begin, int64_t end) {
  for (const Parameter& parameter : frozen_) {
    if (parameter.offset < begin || parameter.offset >= end) continue;
    const Tensor part = ParameterLayout::view(gradients(), parameter);
    device_.clear(part.data, part.bytes());
  }
}

// Here the host waits for the passes. Loss and norm decide whether the step counts and how much the
// gradients are clipped.
StepSums Engine::reduce(double flag) {
  const DeviceRange range(device_, "reduce");
  parameters_->wait_for_gradients(context_);
  add_sum_of_squares(context_, totals_.rows(1, 1), parameters_->own_gradients());
  std::array<double, 2> own = {};
  device_.download(own.data(), totals_.data, totals_.bytes());
  const Timer timer;
  const std::vector<double> sums = communicator_->sum(std::vector{own[0], own[1], flag});
  if (place_.ranks > 1) sums_ms_ += timer.milliseconds();
  return {LossSum{sums[0], step_targets_}.mean(), std::sqrt(sums[1]), sums[2]};
}

double Engine::utilisation(double step_seconds) const {
  const GpuModel* gpu = device_.model();
  if (!gpu) return 0;
  const double peak = config_.train.precision == ModelPrecision::bf16 ? gpu->bf16 : gpu->fp32;
  const double flops = plan_.sequence_flops * static_cast<double>(config_.train.batch);
  return flops / step_seconds / (peak * place_.ranks);
}

double Engine::take_communication_ms() {
  return parameters_->take_milliseconds() + std::exchange(sums_ms_, 0.0);
}

void Engine::gather() {
  const DeviceRange range(device_, "gather");
  parameters_->start_gather(context_);
}

void Engine::update(const UpdateStep& step) {
  const DeviceRange range(device_, "update");
  optimizer_->update(context_, step);
}

std::vector<Block> Engine::own_blocks() const {
  std::vector<Block> own;
  for (const size_t index : parameters_->own_blocks()) {
    own.push_back(blocks_[index]);
    own.back().place = parameters_->own_place(index);
  }
  return own;
}

LossSum Engine::evaluate(const Batch& batch) {
  const DeviceRange range(device_, "evaluate");
  if (!context_.planning()) settle();
  upload(batch);
  const Tensor losses = part(losses_, 0, batch.sequences);
  llama_->evaluate(context_, activations_, part(tokens_, 0, batch.sequences),
                   part(targets_, 0, batch.sequences), {batch.sequences, batch.seq_len}, losses);
  return {sum(context_, losses), batch.scored_targets()};
}

}  // namespace dashlm
