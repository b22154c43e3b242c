// The parameters of a run on one rank, and their way between ranks.
//
//   weights        flat, of all blocks, f32 or bf16: the model computes with them
//   gradients      flat f32, of all blocks: from this rank's own sequences
//   own_weights    f32 masters of this rank's blocks: the optimizer updates them
//   own_gradients  f32 gradients of the same blocks, summed over all ranks
//
// A step: gradients_complete() during the backward pass sends off buckets of gradients to their
// owners; wait_for_gradients(); [the optimizer updates own_weights]; start_gather() sends updated
// blocks to everybody, and need_weights() during the next forward pass waits for what is read next.
// docs/distributed.md follows one block around.
//
// A single rank owns everything. own_gradients is gradients. own_weights is weights if these are
// f32. If they are bf16, own_weights is flat like them, and start_gather() only rounds.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "device/stopwatch.h"
#include "dist/bucket_layout.h"
#include "dist/communicator.h"
#include "ops/core/context.h"

namespace dashlm {

// The arenas of the tensors.
struct ShardArenas {
  Arena& weights;
  Arena& gradients;
  Arena& own;      // own_weights and own_gradients
  Arena& buffers;  // for buckets
};

class ShardedParameters {
 public:
  // `places` has all blocks, which cover the `elements` flat parameters; `owners` has their owners.
  // `type` is the type of `weights`. `communicator` is null where the arenas only measure: nobody
  // then talks to anybody.
  ShardedParameters(const RankPlace& place, Communicator* communicator, int64_t elements,
                    DType type, std::span<const BlockPlace> places, std::span<const int> owners,
                    const ShardArenas& arenas, int64_t bucket_elements = 0);
  // Waits for transfers to or from the arenas' memory.
  ~ShardedParameters();
  ShardedParameters(const ShardedParameters&) = delete;
  ShardedParameters& operator=(const ShardedParameters&) = delete;

  const Tensor& weights() const { return weights_; }
  const Tensor& gradients() const { return gradients_; }
  const Tensor& own_weights() const { return own_weights_; }
  const Tensor& own_gradients() const { return own_gradients_; }
  const std::vector<size_t>& own_blocks() const { return layout_.own_blocks(); }
  // The bytes that this rank sends to others in a step.
  int64_t bytes_per_step() const;
  int64_t bucket_count() const { return std::ssize(layout_.buckets()); }
  // The place of a block in own_weights and own_gradients.
  const BlockPlace& own_place(size_t block) const;

  // Fills tables. Call it once there is memory.
  void initialize(Context& context);
  // The place for the values of all parameters before adopt_weights(): flat f32, the same values on
  // every rank. It is `weights`, or, if these are bf16, the memory of `gradients`.
  const Tensor& staging() const { return rounds() ? gradients_ : weights_; }
  // Takes `weights` and own_weights from staging().
  void adopt_weights(Context& context);

  // Tells that the backward pass has completed all gradients from offset `begin` on.
  void gradients_complete(Context& context, int64_t begin);
  // Waits until own_gradients hold the sums.
  void wait_for_gradients(Context& context);
  // Starts to send the updated own_weights to all ranks.
  void start_gather(Context& context);
  // Waits until the weights below offset `end` are up to date.
  void need_weights(Context& context, int64_t end = std::numeric_limits<int64_t>::max());

  // The milliseconds that the device spent in these methods, packing and waiting, since the last
  // call of this one. Waits until the device is through.
  double take_milliseconds();

 private:
  bool alone() const { return place_.ranks == 1; }
  bool rounds() const { return weights_.dtype != DType::f32; }
  // Room for a bucket on its way. There are two, so that one is filled while the other travels.
  struct Slot {
    Tensor packed;          // f32
    Tensor packed_weights;  // the same memory, in the type of `weights`
    Work work;
  };
  Slot& slot_of(size_t bucket) { return slots_[bucket % slots_.size()]; }
  Tensor segment(const Tensor& own, const Bucket& bucket) const;
  void send_gradients(Context& context, size_t bucket);
  void send_weights(size_t bucket);

  const RankPlace place_;
  Communicator* const communicator_;
  const std::vector<BlockPlace> places_;
  const BucketLayout layout_;
  Tensor weights_, gradients_, own_weights_, own_gradients_;
  Tensor sent_weights_;         // own_weights in the type of `weights`, for other ranks
  Tensor scratch_;              // of reduce_scatter
  Tensor own_table_;            // of own blocks, see ops/blocks/block_table.h
  std::vector<Tensor> tables_;  // of the blocks of each bucket
  std::array<Slot, 2> slots_;
  size_t gradients_sent_ = 0;                       // buckets
  size_t weights_sent_ = 0, weights_received_ = 0;  // buckets, counted from the last one down
  Stopwatch stopwatch_;
};

}  // namespace dashlm
