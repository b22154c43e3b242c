#include "data/batch_loader.h"

#include <chrono>
#include <optional>
#include <thread>

#include "test_files.h"

namespace dashlm {
namespace {

using test::bytes_of;
using test::counting;
using test::expect_error;
using test::TempDir;

constexpr int64_t kSeqLen = 8;

// 5 shards of 41 tokens that count up from 0: 24 sequences, and no shard a multiple of anything.
class Counting {
 public:
  Counting() {
    for (int64_t i = 0; i < 5; ++i) {
      dir_.write(fmt::format("chunk_{}", i), bytes_of(counting(41, 41 * i)));
    }
    stream_.emplace(std::vector{dir_.path()}, 60000);
  }
  const TokenStream& stream() const { return *stream_; }
  SampleOrder order(uint64_t seed = 42) const { return {stream_->size(), kSeqLen, seed}; }

 private:
  TempDir dir_;
  std::optional<TokenStream> stream_;
};

void expect_same(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.sequences, b.sequences);
  EXPECT_EQ(a.seq_len, b.seq_len);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_EQ(a.next, b.next);
}

TEST(BatchLoader, FollowsTheSampleOrder) {
  const Counting data;
  const SampleOrder order = data.order();
  ASSERT_EQ(order.sequences(), 24);
  BatchLoader loader(data.stream(), order, 7, {}, 2);
  SamplePosition position;
  for (int step = 0; step < 20; ++step) {  // 140 sequences: almost six epochs
    const Batch batch = loader.next();
    ASSERT_EQ(batch.sequences, 7);
    ASSERT_EQ(batch.seq_len, kSeqLen);
    ASSERT_EQ(std::ssize(batch.tokens), 7 * kSeqLen);
    ASSERT_EQ(std::ssize(batch.targets), 7 * kSeqLen);
    for (int64_t i = 0; i < 7; ++i) {
      const int64_t first = order.first_token(position.epoch, position.index);
      for (int64_t k = 0; k < kSeqLen; ++k) {
        const auto at = static_cast<size_t>(i * kSeqLen + k);
        ASSERT_EQ(batch.tokens[at], first + k);
        ASSERT_EQ(batch.targets[at], first + k + 1);
      }
      position = order.advance(position, 1);
    }
    EXPECT_EQ(batch.next, position);
  }
  EXPECT_EQ(position, (SamplePosition{5, 20}));
}

TEST(BatchLoader, PrefetchChangesNothing) {
  const Counting data;
  BatchLoader inline_loader(data.stream(), data.order(), 5, {}, 0);
  BatchLoader one(data.stream(), data.order(), 5, {}, 1);
  BatchLoader many(data.stream(), data.order(), 5, {}, 16);
  for (int step = 0; step < 30; ++step) {
    const Batch expected = inline_loader.next();
    expect_same(one.next(), expected);
    expect_same(many.next(), expected);
  }
}

TEST(BatchLoader, ResumesAtAnyPosition) {
  const Counting data;
  std::vector<Batch> whole;
  BatchLoader uninterrupted(data.stream(), data.order(), 5, {}, 3);
  for (int step = 0; step < 25; ++step) whole.push_back(uninterrupted.next());
  for (size_t stop = 0; stop + 1 < whole.size(); ++stop) {
    BatchLoader resumed(data.stream(), data.order(), 5, whole[stop].next, stop % 3);
    for (size_t step = stop + 1; step < std::min(stop + 8, whole.size()); ++step) {
      expect_same(resumed.next(), whole[step]);
    }
  }
}

TEST(BatchLoader, BatchesMayBeLargerThanAnEpoch) {
  const Counting data;
  BatchLoader loader(data.stream(), data.order(), 60, {}, 1);
  EXPECT_EQ(loader.next().next, (SamplePosition{2, 12}));
}

TEST(BatchLoader, SeedsGiveOtherBatches) {
  const Counting data;
  BatchLoader a(data.stream(), data.order(42), 8, {}, 0),
      b(data.stream(), data.order(43), 8, {}, 0);
  EXPECT_NE(a.next().tokens, b.next().tokens);
}

TEST(BatchLoader, DestructorDoesNotWaitForAReader) {
  const Counting data;
  for (int i = 0; i < 200; ++i) {
    BatchLoader loader(data.stream(), data.order(), 4, {}, 1 + i % 4);
    if (i % 3 == 0) loader.next();
    if (i % 2 == 0) std::this_thread::yield();
  }
}

TEST(BatchLoader, RethrowsErrorsAfterTheBatchesBefore) {
  const TempDir dir;
  std::vector<uint16_t> tokens = counting(200);
  tokens[100] = 60001;
  const TokenStream stream({dir.write("a.bin", bytes_of(tokens))}, 60000);
  const SampleOrder order(stream.size(), kSeqLen, 1);
  int64_t sound = 0;  // batches of one before the bad token comes up
  for (; sound < order.sequences(); ++sound) {
    const int64_t first = order.first_token(0, sound);
    if (first <= 100 && 100 <= first + kSeqLen) break;
  }
  ASSERT_LT(sound, order.sequences());
  for (const int64_t prefetch : {0, 1, 64}) {
    BatchLoader loader(stream, order, 1, {}, prefetch);
    // Most likely the thread has failed by now; the batches before must come nevertheless.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int64_t i = 0; i < sound; ++i) EXPECT_EQ(loader.next().sequences, 1);
    for (int again = 0; again < 2; ++again) {
      expect_error([&] { loader.next(); }, {"a.bin", "60001", "position 100"});
    }
  }
}

TEST(BatchLoader, RefusesSenselessArguments) {
  const Counting data;
  const auto make = [&](int64_t batch, SamplePosition start, int64_t prefetch) {
    BatchLoader(data.stream(), data.order(), batch, start, prefetch);
  };
  expect_error([&] { make(0, {}, 1); }, {"batch of 0"});
  expect_error([&] { make(1, {0, -1}, 1); }, {"sequence -1"});
  expect_error([&] { make(1, {}, -1); }, {"prefetch of -1"});
}

TEST(SequentialBatches, ScoresEveryTokenOnce) {
  const TempDir dir;
  for (int64_t size = 2; size < 70; ++size) {
    dir.write("a.bin", bytes_of(counting(size)));
    const TokenStream stream({dir / "a.bin"}, 60000);
    for (const int64_t batch : {1, 2, 3, 20}) {
      const SequentialBatches batches(stream, kSeqLen, batch);
      int64_t scored = 0;
      for (int64_t b = 0; b < batches.batches(); ++b) {
        const Batch part = batches.at(b);
        ASSERT_LE(part.sequences, batch);
        ASSERT_GE(part.sequences, 1);
        ASSERT_EQ(std::ssize(part.targets), part.sequences * kSeqLen);
        ASSERT_EQ(std::ssize(part.tokens), part.sequences * kSeqLen);
        ASSERT_TRUE(part.sequences == batch || b + 1 == batches.batches());
        for (size_t i = 0; i < part.targets.size(); ++i) {
          if (part.targets[i] == kIgnoredTarget) {
            EXPECT_EQ(part.tokens[i], 0);
            continue;
          }
          ++scored;
          ASSERT_EQ(part.targets[i], scored);
          ASSERT_EQ(part.tokens[i], scored - 1);
        }
        // Every sequence has something to score.
        for (int64_t s = 0; s < part.sequences; ++s) {
          EXPECT_NE(part.targets[static_cast<size_t>(s * kSeqLen)], kIgnoredTarget);
        }
      }
      EXPECT_EQ(scored, size - 1);
    }
  }
}

TEST(SequentialBatches, RefusesTooLittleDataAndOtherIndices) {
  const TempDir dir;
  const TokenStream one({dir.write("a.bin", bytes_of(counting(1)))}, 10);
  expect_error([&] { SequentialBatches(one, 8, 2); }, {"1 token"});
  const TokenStream two({dir.write("b.bin", bytes_of(counting(2)))}, 10);
  const SequentialBatches batches(two, 8, 2);
  EXPECT_EQ(batches.batches(), 1);
  expect_error([&] { batches.at(1); }, {"batch 1"}, ExitCode::runtime_failure);
}

}  // namespace
}  // namespace dashlm
