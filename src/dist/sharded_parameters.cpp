#include "dist/sharded_parameters.h"

#include <algorithm>

#include "base/log.h"
#include "ops/blocks/block_copies.h"
#include "ops/core/convert.h"

namespace dashlm {
namespace {

constexpr const char* kPhase = "communication";

Tensor take_table(Arena& arena, size_t blocks) {
  return arena.take("block_table", {static_cast<int64_t>(blocks), kBlockTableColumns}, DType::i64);
}

void upload_table(Context& context, const Tensor& table, std::span<const BlockPlace> places,
                  std::span<const size_t> blocks) {
  std::vector<BlockPlace> chosen;
  for (const size_t block : blocks) chosen.push_back(places[block]);
  const std::vector<int64_t> host = block_table(chosen);
  context.device.upload(table.data, host.data(), table.bytes());
}

}  // namespace

ShardedParameters::ShardedParameters(const RankPlace& place, Communicator* communicator,
                                     int64_t elements, DType type,
                                     std::span<const BlockPlace> places,
                                     std::span<const int> owners, const ShardArenas& arenas,
                                     int64_t bucket_elements)
    : place_(place),
      communicator_(communicator),
      places_(places.begin(), places.end()),
      layout_(places, owners, place.rank, place.ranks, bucket_elements),
      weights_(arenas.weights.take("weights", {elements}, type)),
      gradients_(arenas.gradients.take("gradients", {elements})),
      own_weights_(weights_),
      own_gradients_(gradients_) {
  const Shape shard{layout_.shard_elements()};
  if (rounds() || !alone()) own_weights_ = arenas.own.take("own_weights", shard);
  if (alone()) return;
  own_gradients_ = arenas.own.take("own_gradients", shard);
  sent_weights_ = rounds() ? arenas.own.take("sent_weights", shard, type) : own_weights_;
  own_table_ = take_table(arenas.buffers, layout_.own_blocks().size());
  for (const Bucket& bucket : layout_.buckets()) {
    tables_.push_back(take_table(arenas.buffers, bucket.blocks.size()));
  }
  for (Slot& slot : slots_) {
    slot.packed = arenas.buffers.take("packed", {layout_.largest_bucket()});
    slot.packed_weights = slot.packed;
    slot.packed_weights.dtype = type;
  }
  scratch_ = arenas.buffers.take("received", {place.ranks * layout_.largest_segment()});
}

// After an error: all ranks sent off the same works, so those of this one come to an end, or a rank
// that got less far ends the job.
ShardedParameters::~ShardedParameters() {
  for (Slot& slot : slots_) {
    try {
      slot.work.wait();
    } catch (const std::exception& e) {
      spdlog::error("{}", e.what());
    }
  }
}

const BlockPlace& ShardedParameters::own_place(size_t block) const {
  return alone() ? places_[block] : layout_.shard_place(block);
}

int64_t ShardedParameters::bytes_per_step() const {
  const int64_t own = own_weights_.elements(), others = weights_.elements() - own;
  return others * size_of(DType::f32) + own * (place_.ranks - 1) * size_of(weights_.dtype);
}

void ShardedParameters::initialize(Context& context) {
  if (alone()) return;
  for (size_t i = 0; i < tables_.size(); ++i) {
    upload_table(context, tables_[i], places_, layout_.buckets()[i].blocks);
  }
  // The shard has the order of the buckets.
  std::vector<size_t> blocks = layout_.own_blocks();
  std::sort(blocks.begin(), blocks.end(), [&](size_t a, size_t b) {
    return layout_.shard_place(a).offset < layout_.shard_place(b).offset;
  });
  upload_table(context, own_table_, places_, blocks);
}

void ShardedParameters::adopt_weights(Context& context) {
  if (rounds()) convert(context, weights_, staging());
  if (!alone()) return gather_blocks(context, own_weights_, staging(), own_table_);
  if (rounds()) context.device.copy(own_weights_.data, staging().data, staging().bytes());
}

Tensor ShardedParameters::segment(const Tensor& own, const Bucket& bucket) const {
  return own.rows(bucket.shard_begin, bucket.counts[static_cast<size_t>(place_.rank)]);
}

void ShardedParameters::gradients_complete(Context& context, int64_t begin) {
  if (alone()) return;
  const Stopwatch::Phase phase(stopwatch_, context.device, kPhase);
  while (gradients_sent_ < layout_.buckets().size() &&
         begin <= layout_.buckets()[gradients_sent_].begin) {
    send_gradients(context, gradients_sent_++);
  }
}

void ShardedParameters::send_gradients(Context& context, size_t index) {
  const Bucket& bucket = layout_.buckets()[index];
  Slot& slot = slot_of(index);
  slot.work.wait();
  const Tensor packed = slot.packed.rows(0, bucket.elements);
  gather_blocks(context, packed, gradients_, tables_[index]);
  slot.work = communicator_->reduce_scatter(packed, segment(own_gradients_, bucket), bucket.counts,
                                            scratch_);
}

void ShardedParameters::wait_for_gradients(Context& context) {
  if (alone()) return;
  gradients_complete(context, 0);
  const Stopwatch::Phase phase(stopwatch_, context.device, kPhase);
  for (Slot& slot : slots_) slot.work.wait();
  gradients_sent_ = 0;
}

// The forward pass reads the parameters from their start, so the last bucket goes first.
void ShardedParameters::start_gather(Context& context) {
  if (rounds()) convert(context, alone() ? weights_ : sent_weights_, own_weights_);
  if (alone()) return;
  const Stopwatch::Phase phase(stopwatch_, context.device, kPhase);
  weights_received_ = weights_sent_ = 0;
  while (weights_sent_ < std::min(slots_.size(), layout_.buckets().size())) {
    send_weights(weights_sent_++);
  }
}

void ShardedParameters::send_weights(size_t count) {
  const Bucket& bucket = layout_.buckets()[layout_.buckets().size() - 1 - count];
  Slot& slot = slot_of(count);
  slot.work = communicator_->all_gather(
      segment(sent_weights_, bucket), slot.packed_weights.rows(0, bucket.elements), bucket.counts);
}

void ShardedParameters::need_weights(Context& context, int64_t end) {
  if (weights_received_ == weights_sent_) return;
  const Stopwatch::Phase phase(stopwatch_, context.device, kPhase);
  while (weights_received_ < weights_sent_) {
    const size_t index = layout_.buckets().size() - 1 - weights_received_;
    const Bucket& bucket = layout_.buckets()[index];
    if (bucket.begin >= end) return;
    Slot& slot = slot_of(weights_received_);
    slot.work.wait();
    scatter_blocks(context, weights_, slot.packed_weights.rows(0, bucket.elements), tables_[index]);
    ++weights_received_;
    if (weights_sent_ < layout_.buckets().size()) send_weights(weights_sent_++);
  }
}

double ShardedParameters::take_milliseconds() {
  const double milliseconds = stopwatch_.milliseconds(kPhase);
  stopwatch_.restart();
  return milliseconds;
}

}  // namespace dashlm
