// One rank's model, optimizer and memory: what a training step is made of.
//
// An Engine starts out planned: every tensor has been asked for and every operation of a step was
// walked through without memory, which gives memory_plan(). allocate() then takes the memory, in
// one piece per group, and the other methods may be called.
#pragma once

#include <memory>

#include "data/batch_loader.h"
#include "model/llama.h"
#include "optim/optimizer.h"
#include "train/run_config.h"

namespace dashlm {

// Bytes of each group, and work.
struct MemoryPlan {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t scratch = 0;      // intermediate results within operations and layers
  int64_t batch = 0;        // tokens, targets, losses and RoPE tables
  double step_flops = 0;    // averaged over steps, where some refresh roots and some do not
  double update_flops = 0;  // of them the optimizer's

  int64_t total() const { return weights + gradients + optimizer + activations + scratch + batch; }
};

// A sum of losses in nats over scored targets.
struct LossSum {
  double sum = 0;
  int64_t targets = 0;

  double mean() const { return targets > 0 ? sum / static_cast<double>(targets) : 0.0; }
  LossSum& operator+=(const LossSum& other) {
    sum += other.sum;
    targets += other.targets;
    return *this;
  }
};

class Engine {
 public:
  // `config` must be resolved; it and the device must outlive the engine.
  Engine(Device& device, const RunConfig& config);

  const MemoryPlan& memory_plan() const { return plan_; }
  const ParameterLayout& layout() const { return layout_; }
  void allocate();

  // Sets the weights from train.seed.
  void initialize();

  // Mean loss of the batch; its gradients replace what gradients() held. Micro-batches of
  // train.micro_batch sequences add up to the gradient of the mean over the batch. Frozen
  // parameters (optimizer.lr_scale 0) have a gradient of zero.
  double forward_backward(const Batch& batch);
  // Euclidean norm of the whole gradient.
  double gradient_norm();
  void update(const UpdateStep& step);
  // Batches of at most train.micro_batch sequences.
  LossSum evaluate(const Batch& batch);

  const Tensor& weights() const { return weights_; }      // flat, layout().elements()
  const Tensor& gradients() const { return gradients_; }  // the same
  const Optimizer& optimizer() const { return *optimizer_; }
  std::vector<BlockStatistics> optimizer_statistics() { return optimizer_->statistics(context_); }
  Device& device() { return device_; }

 private:
  void build();
  void walk_through();
  void clear_frozen_gradients();
  LossSum micro_batch(const Batch& batch, int64_t first, int64_t count, float loss_scale);
  BatchShape upload(const Batch& batch, int64_t first, int64_t count);

  Device& device_;
  const RunConfig& config_;
  const ParameterLayout layout_;
  MemoryPlan plan_;

  Arena weights_arena_, gradients_arena_, optimizer_arena_, activations_, scratch_, batch_arena_;
  Context context_;
  Tensor weights_, gradients_;
  Tensor tokens_, targets_, losses_;  // (micro_batch · seq_len)
  LlamaTensors gradient_tensors_;
  std::unique_ptr<Llama> llama_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace dashlm
