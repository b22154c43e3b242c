// Batches of training and validation sequences.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/sample_order.h"
#include "data/token_stream.h"
#include "dist/ownership.h"
#include "ops/model/cross_entropy.h"  // kIgnoredTarget

namespace dashlm {

struct Batch {
  int64_t sequences = 0;  // of this rank
  int64_t seq_len = 0;
  std::vector<int32_t> tokens;   // (sequences, seq_len)
  std::vector<int32_t> targets;  // (sequences, seq_len): the token after each token
  SamplePosition next;           // where the following batch starts, for all ranks
  // The targets scored in this step by all ranks together; 0 if there is one rank.
  int64_t step_targets = 0;

  int64_t scored_targets() const;  // those that are not ignored
};

// Training batches in sample order, read ahead by a thread. A batch depends on its position alone,
// so a loader that starts at `next` of a batch continues the same sequence of batches. A rank reads
// its own share of each batch. All ranks together read each sequence once.
class BatchLoader {
 public:
  // A batch has `batch` sequences over all ranks, and may cross epochs. `prefetch` batches are read
  // ahead; 0 reads within next(). The stream must outlive the loader.
  BatchLoader(const TokenStream& stream, const SampleOrder& order, int64_t batch,
              SamplePosition start, int64_t prefetch, int rank = 0, int ranks = 1);
  ~BatchLoader();  // returns promptly, whatever is queued
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next batch. If reading failed, throws once the batches before the failure are used up.
  Batch next();
  // The time that next() has waited for data so far.
  double wait_seconds() const { return wait_seconds_; }

 private:
  Batch read(SamplePosition start) const;
  void prefetch_loop();

  const TokenStream& stream_;
  SampleOrder order_;
  int64_t batch_;
  Share share_;              // of each batch
  SamplePosition position_;  // of the next batch to be read
  size_t capacity_;
  double wait_seconds_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> queue_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;
};

// A stream from start to end in windows of seq_len, for validation. Every token but the first is a
// target exactly once. The last window is filled up with token 0 and ignored targets. The last
// batch may have fewer sequences.
class SequentialBatches {
 public:
  // Throws a bad_input Error when the stream has fewer than 2 tokens.
  SequentialBatches(const TokenStream& stream, int64_t seq_len, int64_t batch);
  // The share of `rank` in the first `most` windows; 0 means all windows.
  SequentialBatches(const TokenStream& stream, int64_t seq_len, int64_t batch, int64_t most,
                    int rank, int ranks);

  int64_t batches() const { return (windows_.size() + batch_ - 1) / batch_; }
  Batch at(int64_t index) const;  // index in [0, batches())

 private:
  const TokenStream& stream_;
  int64_t seq_len_;
  int64_t batch_;
  Share windows_;
};

}  // namespace dashlm
