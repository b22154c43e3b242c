#include "data/sample_order.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "test_files.h"

namespace dashlm {
namespace {

constexpr int64_t kSeqLen = 16;

// Tokens that make for exactly `sequences` sequences, with `extra` < kSeqLen tokens to spare.
int64_t tokens_for(int64_t sequences, int64_t extra = 0) {
  return (sequences + 1) * kSeqLen + extra;
}

// The order of an epoch as indices of sequences, without the offset.
std::vector<int64_t> epoch_order(const SampleOrder& order, int64_t epoch) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < order.sequences(); ++i) {
    result.push_back(order.first_token(epoch, i) / order.seq_len());
  }
  return result;
}

TEST(SampleOrder, VisitsEverySequenceOnce) {
  for (const int64_t count :
       {1, 2, 3, 4, 5, 7, 8, 11, 16, 31, 64, 97, 100, 127, 128, 129, 1009, 4096, 5000}) {
    const SampleOrder order(tokens_for(count, 5), kSeqLen, 42);
    ASSERT_EQ(order.sequences(), count);
    for (const int64_t epoch : {0, 1, 1000000}) {
      std::set<int64_t> seen;
      const int64_t offset = order.first_token(epoch, 0) % kSeqLen;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = order.first_token(epoch, i);
        EXPECT_EQ(first % kSeqLen, offset) << "one offset an epoch";
        EXPECT_GE(first, 0);
        EXPECT_LE(first + kSeqLen + 1, tokens_for(count, 5));
        seen.insert(first);
      }
      EXPECT_EQ(std::ssize(seen), count) << "epoch " << epoch;
    }
  }
}

TEST(SampleOrder, FitsEveryAmountOfData) {
  for (int64_t tokens = kSeqLen + 1; tokens < 6 * kSeqLen; ++tokens) {
    const SampleOrder order(tokens, kSeqLen, 1);
    EXPECT_EQ(order.sequences(), std::max<int64_t>(1, (tokens - kSeqLen) / kSeqLen));
    int64_t last = 0, first = tokens;
    for (int64_t epoch = 0; epoch < 400; ++epoch) {
      for (int64_t i = 0; i < order.sequences(); ++i) {
        const int64_t begin = order.first_token(epoch, i);
        first = std::min(first, begin);
        last = std::max(last, begin + kSeqLen + 1);
      }
    }
    EXPECT_EQ(first, 0);
    // All data is within reach, unless there is more than the sequences and their shift cover.
    EXPECT_EQ(last, std::min(tokens, order.sequences() * kSeqLen + 1 + kSeqLen - 1)) << tokens;
    EXPECT_EQ(order.unused(), tokens - last);
    if (order.sequences() > 1) {
      EXPECT_EQ(order.unused(), tokens % kSeqLen);
    }
  }
}

TEST(SampleOrder, RefusesTooLittleData) {
  EXPECT_EQ(SampleOrder(17, 16, 0).sequences(), 1);
  test::expect_error([] { SampleOrder(16, 16, 0); }, {"16 tokens", "needs 17"});
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
  const SampleOrder order(tokens_for(1000), kSeqLen, 42), other(tokens_for(1000), kSeqLen, 666);
  const auto same_places = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    int64_t same = 0;
    for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
    return same;
  };
  // Two random permutations agree in one place on average; 10 has a probability of 1e-7.
  std::vector<int64_t> identity(1000);
  for (size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<int64_t>(i);
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    EXPECT_LT(same_places(epoch_order(order, epoch), epoch_order(order, epoch + 1)), 10);
    EXPECT_LT(same_places(epoch_order(order, epoch), epoch_order(other, epoch)), 10);
    EXPECT_LT(same_places(epoch_order(order, epoch), identity), 10);
  }
  std::set<int64_t> offsets;
  for (int64_t epoch = 0; epoch < 200; ++epoch) offsets.insert(order.first_token(epoch, 0) % 16);
  EXPECT_EQ(offsets.size(), 16u);
}

TEST(SampleOrder, IsRoughlyUniform) {
  // How often index i goes to sequence j over many epochs: chi-squared with (n-1)^2 degrees of
  // freedom, whose mean is that number and whose deviation is sqrt(2) times its root.
  for (const int64_t n : {2, 3, 5, 12, 37}) {
    const SampleOrder order(tokens_for(n), kSeqLen, 7);
    const int64_t epochs = 200 * n;
    std::vector<int64_t> counts(static_cast<size_t>(n * n));
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto permutation = epoch_order(order, epoch);
      for (int64_t i = 0; i < n; ++i) {
        ++counts[static_cast<size_t>(i * n + permutation[static_cast<size_t>(i)])];
      }
    }
    const double expected = static_cast<double>(epochs) / static_cast<double>(n);
    double chi2 = 0;
    for (const int64_t count : counts) {
      chi2 += std::pow(static_cast<double>(count) - expected, 2) / expected;
    }
    const auto freedom = static_cast<double>((n - 1) * (n - 1));
    EXPECT_NEAR(chi2, freedom, 5 * std::sqrt(2 * freedom)) << n;
  }
}

TEST(SampleOrder, NeighboursAreNotNeighboursAfterwards) {
  // Of a random permutation, 2 of the 999 pairs of neighbours stay neighbours on average.
  const auto order = epoch_order(SampleOrder(tokens_for(1000), kSeqLen, 3), 0);
  int64_t pairs = 0;
  double covariance = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    pairs += std::abs(order[i] - order[i + 1]) == 1;
    covariance +=
        (static_cast<double>(order[i]) - 499.5) * (static_cast<double>(order[i + 1]) - 499.5);
  }
  EXPECT_LT(pairs, 12);
  // Correlation of successors; its deviation is 1 / sqrt(1000).
  EXPECT_LT(std::abs(covariance / 999 / (1000.0 * 1000.0 / 12)), 0.16);
}

TEST(SampleOrder, HandlesCorporaOfManyBillionTokens) {
  const int64_t tokens = int64_t{200} * 1000 * 1000 * 1000;
  const SampleOrder order(tokens, 1024, 42);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t first = order.first_token(3, order.sequences() - 1 - i);
    EXPECT_GE(first, 0);
    EXPECT_LE(first + 1025, tokens);
    seen.insert(first);
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_GT(*seen.rbegin(), tokens / 100 * 95);
}

TEST(SampleOrder, AdvancesAcrossEpochs) {
  const SampleOrder order(tokens_for(10), kSeqLen, 42);
  EXPECT_EQ(order.advance({0, 3}, 6), (SamplePosition{0, 9}));
  EXPECT_EQ(order.advance({0, 3}, 7), (SamplePosition{1, 0}));
  EXPECT_EQ(order.advance({2, 9}, 25), (SamplePosition{5, 4}));
  EXPECT_EQ(order.advance({2, 10}, 0), (SamplePosition{3, 0}));
}

TEST(SampleOrder, OrderIsTheSameForEver) {
  // Recorded: a change of the order would silently change what a resumed run sees.
  const SampleOrder order(tokens_for(10), kSeqLen, 42);
  EXPECT_EQ(epoch_order(order, 0), (std::vector<int64_t>{2, 6, 9, 1, 0, 4, 7, 5, 3, 8}));
  EXPECT_EQ(order.first_token(0, 0) % kSeqLen, 2);
}

}  // namespace
}  // namespace dashlm
