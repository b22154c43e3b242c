#include "dist/bucket_layout.h"

#include <algorithm>

namespace dashlm {
namespace {

int64_t default_bucket(std::span<const BlockPlace> places, int ranks) {
  constexpr int64_t kElements = int64_t{1} << 24;
  constexpr int64_t kMost = int64_t{1} << 30;  // MPI counts in 31 bits
  int64_t total = 0;
  for (const BlockPlace& place : places) total += place.elements();
  const int64_t average = places.empty() ? 0 : total / std::ssize(places);
  return std::clamp(2 * ranks * average, kElements, kMost);
}

}  // namespace

BucketLayout::BucketLayout(std::span<const BlockPlace> places, std::span<const int> owners,
                           int rank, int ranks, int64_t bucket_elements)
    : rank_(rank), ranks_(ranks), shard_places_(places.size()) {
  if (bucket_elements == 0) bucket_elements = default_bucket(places, ranks);
  Bucket bucket;
  for (size_t i = places.size(); i-- > 0;) {
    bucket.blocks.push_back(i);
    bucket.elements += places[i].elements();
    if (bucket.elements < bucket_elements && i > 0) continue;
    add_bucket(places, owners, std::move(bucket));
    bucket = {};
  }
  std::sort(own_blocks_.begin(), own_blocks_.end());
}

void BucketLayout::add_bucket(std::span<const BlockPlace> places, std::span<const int> owners,
                              Bucket bucket) {
  std::stable_sort(bucket.blocks.begin(), bucket.blocks.end(),
                   [&](size_t a, size_t b) { return owners[a] < owners[b]; });
  bucket.begin = places[bucket.blocks.front()].offset;
  bucket.counts.resize(static_cast<size_t>(ranks_));
  bucket.shard_begin = shard_elements_;
  for (const size_t block : bucket.blocks) {
    const BlockPlace& place = places[block];
    bucket.begin = std::min(bucket.begin, place.offset);
    bucket.counts[static_cast<size_t>(owners[block])] += place.elements();
    if (owners[block] != rank_) continue;
    own_blocks_.push_back(block);
    shard_places_[block] = {shard_elements_, place.cols, place.rows, place.cols};
    shard_elements_ += place.elements();
  }
  buckets_.push_back(std::move(bucket));
}

int64_t BucketLayout::largest_bucket() const {
  int64_t largest = 0;
  for (const Bucket& bucket : buckets_) largest = std::max(largest, bucket.elements);
  return largest;
}

int64_t BucketLayout::largest_segment() const {
  int64_t largest = 0;
  for (const Bucket& bucket : buckets_) {
    largest = std::max(largest, bucket.counts[static_cast<size_t>(rank_)]);
  }
  return largest;
}

}  // namespace dashlm
