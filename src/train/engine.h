// One rank's model, optimizer and memory: what a training step is made of.
//
// An Engine starts out planned: every tensor has been asked for and every operation of a step was
// walked through without memory, which gives plan(). allocate() then takes the memory, in one piece
// per group, and the other methods may be called.
#pragma once

#include <memory>

#include "data/batch_loader.h"
#include "device/host_buffer.h"
#include "dist/sharded_parameters.h"
#include "model/llama.h"
#include "optim/optimizer_config.h"
#include "train/run_config.h"
#include "train/step_plan.h"

namespace dashlm {

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

// Of all ranks together; the same on every rank.
LossSum add_up(Communicator& communicator, const LossSum& own);

// What all ranks' shares of a step add up to; the same on every rank.
struct StepSums {
  double loss = 0;           // mean over the targets of all ranks
  double gradient_norm = 0;  // Euclidean, of the whole gradient
  double flags = 0;          // sum of what each rank raised; see reduce()
};

class Engine {
 public:
  // `config` must be resolved; all three must outlive the engine.
  Engine(Device& device, const RunConfig& config, Communicator& communicator);

  const StepPlan& plan() const { return plan_; }
  const ParameterLayout& layout() const { return layout_; }
  void allocate();

  // Sets the weights from train.seed.
  void initialize();

  // A step is these four calls. Forward and backward pass over this rank's sequences, in
  // micro-batches of at most micro_batch(); gradients set out for their owners during the last one.
  // Frozen parameters (lr_scale 0) have a gradient of zero.
  void forward_backward(const Batch& batch);
  // Waits for the gradients of own blocks. `flag` adds to StepSums::flags.
  StepSums reduce(double flag = 0);
  // Updates the weights of own blocks.
  void update(const UpdateStep& step);
  // Sends them to everybody; they arrive during the next forward pass, or settle().
  void gather();

  // Until all weights have arrived.
  void settle() { parameters_->need_weights(context_); }
  // Batches of at most micro_batch() sequences.
  LossSum evaluate(const Batch& batch);

  int64_t micro_batch() const { return plan_.micro_batch; }
  // Flat, in the type of train.precision, once settled.
  const Tensor& weights() const { return parameters_->weights(); }
  const Tensor& gradients() const { return parameters_->gradients(); }  // of this rank's sequences
  // Where others put the weights of all parameters (flat f32, alike on every rank), and what is
  // then to be called. The gradients are lost.
  const Tensor& staging() const { return parameters_->staging(); }
  void weights_were_set() { parameters_->adopt_weights(context_); }
  // What the optimizer updates: own blocks, with their places in own_weights() (flat f32).
  const Tensor& own_weights() const { return parameters_->own_weights(); }
  // and what it updates them from: own gradients, laid out alike, which reduce() completes.
  const Tensor& own_gradients() const { return parameters_->own_gradients(); }
  std::vector<Block> own_blocks() const;
  // Counted since the engine was made, its plan included: the difference is what a step really
  // took.
  double flops() const { return context_.flops; }
  // Of the peak rate of all ranks' GPUs at train.precision, what steps of so many seconds make use
  // of (MFU); 0 on a CPU and where the peak is unknown.
  double utilisation(double step_seconds) const;
  const Optimizer& optimizer() const { return *optimizer_; }
  std::vector<BlockStatistics> optimizer_statistics() { return optimizer_->statistics(context_); }
  Device& device() { return device_; }
  Communicator& communicator() const { return *communicator_; }
  // Spent on moving parameters between ranks since the last call, ms.
  double take_communication_ms();

 private:
  friend StepPlan plan_step(Device& device, const RunConfig& config, const RankPlace& place);
  // Without a communicator there is a plan, and no step.
  Engine(Device& device, const RunConfig& config, const RankPlace& place,
         Communicator* communicator);
  void build();
  void walk_through();
  // Of parameters in [begin, end) of the flat allocation.
  void clear_frozen_gradients(int64_t begin, int64_t end);
  void run_micro_batch(int64_t first, int64_t count, float loss_scale, bool last);
  // To tokens_ and targets_, at most as many sequences as fit. It does not wait.
  void upload(const Batch& batch);
  // Sequences a step of the busiest rank.
  int64_t most_sequences() const;
  // Of `count` sequences from `first` on, of a tensor by token.
  Tensor part(const Tensor& tokens, int64_t first, int64_t count) const;

  Device& device_;
  const RunConfig& config_;
  const RankPlace place_;
  Communicator* const communicator_;
  const ParameterLayout layout_;
  const std::vector<Block> blocks_;
  const std::vector<int> owners_;
  std::vector<Parameter> frozen_;
  StepPlan plan_;

  Arena weights_arena_, gradients_arena_, shard_arena_, bucket_arena_, optimizer_arena_,
      activations_, scratch_, batch_arena_;
  Context context_;
  std::unique_ptr<ShardedParameters> parameters_;
  std::unique_ptr<HostBuffer> host_batch_;  // tokens and targets on their way to the device
  Tensor tokens_, targets_;  // (sequences at most · seq_len) i32: of a step, or of an evaluation
  Tensor losses_;            // (micro_batch · seq_len)
  Tensor totals_;            // (2) f64: sums of losses and of squared gradients
  LlamaTensors gradient_tensors_;
  double sums_ms_ = 0;        // spent on adding up scalars since take_communication_ms()
  int64_t step_targets_ = 0;  // of all ranks, in the last forward_backward()
  std::unique_ptr<Llama> llama_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace dashlm
