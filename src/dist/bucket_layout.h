// The place of each block while it travels between ranks, and in its owner's memory. This is pure
// index arithmetic.
//
// Blocks travel in buckets, in the order in which the backward pass completes their gradients: from
// the end of the flat parameters to their start. Within a bucket, blocks are packed by owner:
//
//   flat parameters   | b0 | b1 | b2 | b3 | b4 | b5 | b6 | b7 |   blocks interleave where a matrix
//                       bucket 1 <-------- | --------> bucket 0    is more than one block wide
//   bucket 0, packed  | b7 b5 | b6 b4 |     a segment for each of two ranks
//   shard of rank 0   | b7 b5 | b3 b1 |     its segments of all buckets one after the other
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/blocks/block_table.h"

namespace dashlm {

struct Bucket {
  int64_t begin = 0;            // all its blocks lie at or after this offset of the flat parameters
  std::vector<size_t> blocks;   // in the order in which they are packed
  std::vector<int64_t> counts;  // (ranks): elements of each rank's segment
  int64_t elements = 0;         // of all segments
  int64_t shard_begin = 0;      // where this rank's segment begins in its shard
};

class BucketLayout {
 public:
  // `places` lie in the flat parameters; `owners` has the owner of each. A bucket is closed once it
  // has `bucket_elements` or more. 0 chooses 64 MiB of fp32, or two average blocks a rank.
  BucketLayout(std::span<const BlockPlace> places, std::span<const int> owners, int rank, int ranks,
               int64_t bucket_elements = 0);

  const std::vector<Bucket>& buckets() const { return buckets_; }  // in the order of completion
  const std::vector<size_t>& own_blocks() const { return own_blocks_; }  // ascending
  // The place of `block` in the shard of this rank, which owns it.
  const BlockPlace& shard_place(size_t block) const { return shard_places_[block]; }
  int64_t shard_elements() const { return shard_elements_; }
  int64_t largest_bucket() const;   // elements
  int64_t largest_segment() const;  // of this rank's, elements

 private:
  void add_bucket(std::span<const BlockPlace> places, std::span<const int> owners, Bucket bucket);

  const int rank_, ranks_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> own_blocks_;
  std::vector<BlockPlace> shard_places_;  // by block; empty for blocks of other ranks
  int64_t shard_elements_ = 0;
};

}  // namespace dashlm
