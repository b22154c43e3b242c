// Where blocks lie while they travel.
#include "dist/bucket_layout.h"

#include <gtest/gtest.h>

#include <set>

#include "dist/ownership.h"
#include "model/parameters.h"
#include "ops/blocks/block_copies.h"
#include "optim/blocks/block_layout.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

std::vector<BlockPlace> awkward_places() {
  const ParameterLayout layout = awkward_parameters();
  std::vector<BlockPlace> places;
  for (const Block& block : cut_into_blocks(layout, {.block_size = 4}))
    places.push_back(block.place);
  return places;
}

std::vector<int> owners_of(const std::vector<BlockPlace>& places, int ranks) {
  std::vector<double> costs;
  for (const BlockPlace& place : places) costs.push_back(static_cast<double>(place.elements()));
  return share_out(costs, ranks);
}

TEST(BucketLayout, EveryBlockTravelsOnceInItsOwnersSegment) {
  const std::vector<BlockPlace> places = awkward_places();
  for (const int ranks : {1, 2, 3, 5, 100}) {
    const std::vector<int> owners = owners_of(places, ranks);
    for (const int64_t size : {1, 20, 100, 100000}) {
      const BucketLayout layout(places, owners, ranks / 2, ranks, size);
      std::set<size_t> seen;
      for (const Bucket& bucket : layout.buckets()) {
        std::vector<int64_t> counts(static_cast<size_t>(ranks));
        int before = 0;
        for (const size_t block : bucket.blocks) {
          EXPECT_TRUE(seen.insert(block).second);
          EXPECT_GE(owners[block], before) << "segments are in the order of ranks";
          before = owners[block];
          counts[static_cast<size_t>(owners[block])] += places[block].elements();
          EXPECT_GE(places[block].offset, bucket.begin);
        }
        EXPECT_EQ(bucket.counts, counts);
      }
      EXPECT_EQ(seen.size(), places.size());
      // Nothing of a bucket lies before what later ones wait for.
      for (size_t i = 1; i < layout.buckets().size(); ++i) {
        EXPECT_GE(layout.buckets()[i].blocks.size(), 1u);
      }
    }
  }
}

TEST(BucketLayout, ShardsOfAllRanksAreAllBlocksWithoutGaps) {
  const std::vector<BlockPlace> places = awkward_places();
  for (const int ranks : {1, 3, 100}) {
    const std::vector<int> owners = owners_of(places, ranks);
    size_t blocks = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const BucketLayout layout(places, owners, rank, ranks, 30);
      std::vector<int> used(static_cast<size_t>(layout.shard_elements()));
      for (const size_t block : layout.own_blocks()) {
        EXPECT_EQ(owners[block], rank);
        const BlockPlace& place = layout.shard_place(block);
        EXPECT_EQ(place.rows, places[block].rows);
        EXPECT_EQ(place.row_stride, places[block].cols);
        for (int64_t i = 0; i < place.elements(); ++i) {
          ++used.at(static_cast<size_t>(place.offset + i));
        }
      }
      EXPECT_EQ(used, std::vector<int>(used.size(), 1));
      // A segment of the shard is what the bucket packs for this rank, in the same order.
      for (const Bucket& bucket : layout.buckets()) {
        int64_t at = bucket.shard_begin;
        for (const size_t block : bucket.blocks) {
          if (owners[block] != rank) continue;
          EXPECT_EQ(layout.shard_place(block).offset, at);
          at += places[block].elements();
        }
        EXPECT_EQ(at - bucket.shard_begin, bucket.counts[static_cast<size_t>(rank)]);
      }
      blocks += layout.own_blocks().size();
    }
    EXPECT_EQ(blocks, places.size());
  }
}

TEST(BucketLayout, EachBucketHasWorkForEveryRank) {
  const std::vector<BlockPlace> places(96, BlockPlace{0, 4, 4, 4});
  const BucketLayout layout(places, owners_of(places, 8), 0, 8, 24 * 16);
  ASSERT_EQ(layout.buckets().size(), 4u);
  for (const Bucket& bucket : layout.buckets()) {
    EXPECT_EQ(bucket.counts, std::vector<int64_t>(8, 3 * 16));
  }
}

// Copying to packed form and back is exact and leaves the rest alone.
TEST(BlockCopies, GatherAndScatterAreInverse) {
  const std::vector<BlockPlace> places = awkward_places();
  Lab lab;
  const int64_t elements = awkward_parameters().elements();
  const Tensor from = lab.normal("from", {elements}), to = lab.normal("to", {elements});
  const Doubles before = values(to);
  std::vector<BlockPlace> some;
  std::vector<int> chosen(static_cast<size_t>(elements));
  for (size_t i = 0; i < places.size(); i += 2) {
    some.push_back(places[i]);
    for (int64_t r = 0; r < places[i].rows; ++r) {
      for (int64_t c = 0; c < places[i].cols; ++c) {
        chosen[static_cast<size_t>(places[i].offset + r * places[i].row_stride + c)] = 1;
      }
    }
  }
  int64_t packed_elements = 0;
  for (const BlockPlace& place : some) packed_elements += place.elements();
  std::vector<int64_t> host = block_table(some);
  const Tensor table{host.data(), DType::i64, {std::ssize(some), kBlockTableColumns}, "table"};
  const Tensor packed = lab.output("packed", {packed_elements});
  run(lab, [&](Context& context) {
    gather_blocks(context, packed, from, table);
    scatter_blocks(context, to, packed, table);
  });
  // The second row of the first block follows its first one.
  EXPECT_EQ(packed.f32()[some[0].cols], from.f32()[some[0].offset + some[0].row_stride]);
  for (int64_t i = 0; i < elements; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(to.f32()[i], chosen[at] ? from.f32()[i] : static_cast<float>(before[at]));
  }
}

}  // namespace
}  // namespace dashlm::testing
