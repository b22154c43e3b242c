// The parts of a training step on one rank: model, optimizer and memory.
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

// The sum over all ranks; the same on every rank.
LossSum add_up(Communicator& communicator, const LossSum& own);

// The sums of all ranks over a step; the same on every rank.
struct StepSums {
  double loss = 0;           // mean over the targets of all ranks
  double gradient_norm = 0;  // Euclidean, of the whole gradient
  double flags = 0;          // sum of the flags of all ranks; see reduce()
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
  // Sends the updated weights to all ranks. They arrive during the next forward pass, or in
  // settle().
  void gather();

  // Waits until all weights have arrived.
  void settle() { parameters_->need_weights(context_); }
  // The loss of a batch of at most micro_batch() sequences.
  LossSum evaluate(const Batch& batch);

  int64_t micro_batch() const { return plan_.micro_batch; }
  // The weights after settle(): flat, in the type of train.precision.
  const Tensor& weights() const { return parameters_->weights(); }
  const Tensor& gradients() const { return parameters_->gradients(); }  // of this rank's sequences
  // To set all weights, write them to staging() (flat f32, the same on every rank), then call
  // weights_were_set(). The gradients are lost.
  const Tensor& staging() const { return parameters_->staging(); }
  void weights_were_set() { parameters_->adopt_weights(context_); }
  // The optimizer updates own_weights(), the flat f32 weights of own blocks, whose places lie in
  // it,
  const Tensor& own_weights() const { return parameters_->own_weights(); }
  // from own_gradients(), which are laid out alike and completed by reduce().
  const Tensor& own_gradients() const { return parameters_->own_gradients(); }
  std::vector<Block> own_blocks() const;
  // The FLOPs since the engine was made, its plan included. The difference before and after a step
  // is the step's own.
  double flops() const { return context_.flops; }
  // MFU: the share of the peak rate of all ranks' GPUs, at train.precision, that steps of
  // `step_seconds` use. 0 on a CPU and where the peak is unknown.
  double utilisation(double step_seconds) const;
  const Optimizer& optimizer() const { return *optimizer_; }
  std::vector<BlockStatistics> optimizer_statistics() { return optimizer_->statistics(context_); }
  Device& device() { return device_; }
  Communicator& communicator() const { return *communicator_; }
  // The ms spent on moving parameters between ranks since the last call.
  double take_communication_ms();

 private:
  friend StepPlan plan_step(Device& device, const RunConfig& config, const RankPlace& place);
  // Without a communicator there is a plan, and no step.
  Engine(Device& device, const RunConfig& config, const RankPlace& place,
         Communicator* communicator);
  void build();
  void walk_through();
  // Clears the gradients of frozen parameters in [begin, end) of the flat allocation.
  void clear_frozen_gradients(int64_t begin, int64_t end);
  void run_micro_batch(int64_t first, int64_t count, float loss_scale, bool last);
  // Uploads the batch to tokens_ and targets_, where it must fit. Does not wait.
  void upload(const Batch& batch);
  // The sequences of the busiest rank in a step.
  int64_t most_sequences() const;
  // The part of a tensor by token for `count` sequences from `first` on.
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
  Tensor tokens_, targets_;  // (most sequences · seq_len) i32: a step's, or an evaluation's
  Tensor losses_;            // (micro_batch · seq_len)
  Tensor totals_;            // (2) f64: sums of losses and of squared gradients
  LlamaTensors gradient_tensors_;
  double sums_ms_ = 0;        // spent on adding up scalars since take_communication_ms()
  int64_t step_targets_ = 0;  // of all ranks, in the last forward_backward()
  std::unique_ptr<Llama> llama_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace dashlm
