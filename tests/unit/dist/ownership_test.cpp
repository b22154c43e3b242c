// Sharing blocks out to ranks.
#include "dist/ownership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "model/parameters.h"
#include "optim/optimizer.h"
#include "support/optimizer_settings.h"

namespace dashlm::testing {
namespace {

std::vector<double> random_costs(size_t count, uint64_t seed) {
  const CounterRandom random(seed, Purpose::test);
  std::vector<double> costs;
  for (size_t i = 0; i < count; ++i) costs.push_back(1.0 + 99.0 * random.uniform(i));
  return costs;
}

TEST(Ownership, EveryItemHasOneOwnerAndLoadsAreNearTheBest) {
  for (const int ranks : {1, 2, 3, 7, 64}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<double> costs = random_costs(50 + 10 * seed, seed);
      const std::vector<int> owners = share_out(costs, ranks);
      ASSERT_EQ(owners.size(), costs.size());
      for (const int owner : owners) ASSERT_TRUE(owner >= 0 && owner < ranks);
      const std::vector<double> loads = cost_by_rank(costs, owners, ranks);
      const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
      const double most = *std::max_element(loads.begin(), loads.end());
      EXPECT_NEAR(std::accumulate(loads.begin(), loads.end(), 0.0), total, 1e-9 * total);
      // No schedule can do better than this, and Graham's bound is 4/3 of the best.
      const double bound = std::max(total / ranks, *std::max_element(costs.begin(), costs.end()));
      EXPECT_LE(most, (4.0 / 3.0 - 1.0 / (3 * ranks)) * bound * 1.05);
      EXPECT_NEAR(imbalance(loads), most / (total / ranks), 1e-12);
    }
  }
}

TEST(Ownership, EqualItemsAreDealtOutFromTheEnd) {
  EXPECT_EQ(share_out(std::vector<double>(7, 2.0), 3), (std::vector<int>{0, 2, 1, 0, 2, 1, 0}));
}

TEST(Ownership, MoreRanksThanItems) {
  const std::vector<int> owners = share_out(std::vector<double>{3, 1, 2}, 5);
  EXPECT_EQ(owners, (std::vector<int>{0, 2, 1}));
  EXPECT_TRUE(share_out({}, 4).empty());
  EXPECT_EQ(imbalance(std::vector<double>{0, 0}), 1.0);
}

// The published sizes, sharded by single blocks: the bounds that whole layers miss by far.
TEST(Ownership, Llama953MIsBalancedOnManyRanks) {
  ModelConfig model{.n_layer = 16,
                    .d_model = 2048,
                    .n_head = 16,
                    .d_ff = 5632,
                    .vocab_size = 32000,
                    .seq_len = 1024};
  model.resolve();
  const ParameterLayout layout = llama_parameters(model);
  ASSERT_EQ(layout.elements(), 953'223'168);
  const auto imbalance_of = [&](int64_t block_size, int ranks, VectorRule vectors) {
    OptimizerConfig config("dash");
    block_shampoo(config).block_size = block_size;
    block_shampoo(config).vectors = vectors;
    std::vector<double> costs;
    for (const Block& block : optimizer_blocks(config, layout)) {
      costs.push_back(block_cost(config, block));
    }
    return imbalance(cost_by_rank(costs, share_out(costs, ranks), ranks));
  };
  for (const VectorRule vectors : {VectorRule::adamw, VectorRule::shampoo}) {
    EXPECT_LE(imbalance_of(1024, 8, vectors), 1.01);
    EXPECT_LE(imbalance_of(1024, 64, vectors), 1.02);
    EXPECT_LE(imbalance_of(2048, 64, vectors), 1.06);
  }
}

}  // namespace
}  // namespace dashlm::testing
