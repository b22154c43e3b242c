#include "data/batch_loader.h"

#include <algorithm>

#include "base/error.h"
#include "base/timer.h"

namespace dashlm {
namespace {

Batch make_batch(int64_t sequences, int64_t seq_len) {
  Batch batch;
  batch.sequences = sequences;
  batch.seq_len = seq_len;
  batch.tokens.resize(static_cast<size_t>(sequences * seq_len));
  batch.targets.resize(static_cast<size_t>(sequences * seq_len));
  return batch;
}

}  // namespace

int64_t Batch::scored_targets() const {
  return std::ssize(targets) - std::count(targets.begin(), targets.end(), kIgnoredTarget);
}

BatchLoader::BatchLoader(const TokenStream& stream, const SampleOrder& order, int64_t batch,
                         SamplePosition start, int64_t prefetch, int rank, int ranks)
    : stream_(stream),
      order_(order),
      batch_(batch),
      share_(Share::of(batch, rank, ranks)),
      position_(order.advance(start, 0)),
      capacity_(static_cast<size_t>(prefetch)) {
  require(batch > 0, "a batch of {} sequences is not possible", batch);
  require(prefetch >= 0, "a prefetch of {} batches is not possible", prefetch);
  require(start.epoch >= 0 && start.index >= 0, "epoch {}, sequence {} is no position in the data",
          start.epoch, start.index);
  if (prefetch > 0) thread_ = std::thread([this] { prefetch_loop(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Batch BatchLoader::read(SamplePosition start) const {
  const int64_t seq_len = order_.seq_len();
  Batch batch = make_batch(share_.size(), seq_len);
  std::vector<int32_t> sequence(static_cast<size_t>(seq_len + 1));
  SamplePosition position = order_.advance(start, share_.begin);
  for (int64_t i = 0; i < batch.sequences; ++i) {
    stream_.read(order_.first_token(position.epoch, position.index), seq_len + 1, sequence.data());
    std::copy_n(sequence.begin(), seq_len, batch.tokens.begin() + i * seq_len);
    std::copy_n(sequence.begin() + 1, seq_len, batch.targets.begin() + i * seq_len);
    position = order_.advance(position, 1);
  }
  batch.next = order_.advance(start, batch_);
  batch.step_targets = batch_ * seq_len;
  return batch;
}

void BatchLoader::prefetch_loop() {
  try {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || queue_.size() < capacity_; });
        if (stop_) return;
      }
      Batch batch = read(position_);  // only this thread uses position_ from here on
      position_ = batch.next;
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(batch));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

Batch BatchLoader::next() {
  const Timer timer;
  Batch batch;
  if (!thread_.joinable()) {
    batch = read(position_);
    position_ = batch.next;
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ || !queue_.empty(); });
    if (queue_.empty()) std::rethrow_exception(failure_);
    batch = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
  }
  wait_seconds_ += timer.seconds();
  return batch;
}

SequentialBatches::SequentialBatches(const TokenStream& stream, int64_t seq_len, int64_t batch)
    : SequentialBatches(stream, seq_len, batch, 0, 0, 1) {}

SequentialBatches::SequentialBatches(const TokenStream& stream, int64_t seq_len, int64_t batch,
                                     int64_t most, int rank, int ranks)
    : stream_(stream), seq_len_(seq_len), batch_(batch) {
  require(seq_len > 0 && batch > 0, "batches of {} sequences of length {} are not possible", batch,
          seq_len);
  require(stream.size() >= 2, "the validation data has {} token; at least 2 are needed",
          stream.size());
  const int64_t all = (stream.size() - 1 + seq_len - 1) / seq_len;
  windows_ = Share::of(most > 0 ? std::min(most, all) : all, rank, ranks);
}

Batch SequentialBatches::at(int64_t index) const {
  if (index < 0 || index >= batches()) {
    fail_runtime("validation batch {} does not exist: there are {}", index, batches());
  }
  const int64_t first = windows_.begin + index * batch_;
  const int64_t last = std::min(first + batch_, windows_.end);
  Batch batch = make_batch(last - first, seq_len_);
  std::fill(batch.targets.begin(), batch.targets.end(), kIgnoredTarget);
  std::vector<int32_t> tokens(static_cast<size_t>((last - first) * seq_len_ + 1));
  const int64_t begin = first * seq_len_;
  const int64_t count = std::min(static_cast<int64_t>(tokens.size()), stream_.size() - begin);
  stream_.read(begin, count, tokens.data());
  // Windows follow each other without a gap, so the batch is one piece of the stream. Its last
  // token is only a target.
  std::copy_n(tokens.begin(), count - 1, batch.tokens.begin());
  std::copy_n(tokens.begin() + 1, count - 1, batch.targets.begin());
  batch.next = {0, last};
  return batch;
}

}  // namespace dashlm
