#include "data/sample_order.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace dashlm {
namespace {

// Tests find six rounds random already; the other rounds are margin.
constexpr int kRounds = 10;

}  // namespace

SampleOrder::SampleOrder(int64_t tokens, int64_t seq_len, uint64_t seed)
    : seq_len_(seq_len), seed_(seed) {
  require(seq_len > 0, "a sequence length of {} is not possible", seq_len);
  require(tokens > seq_len,
          "the training data has {} tokens, but one sequence of length {} needs {}; use more data "
          "or a shorter sequence",
          tokens, seq_len, seq_len + 1);
  sequences_ = std::max<int64_t>(1, (tokens - seq_len) / seq_len);
  const int64_t slack = tokens - (sequences_ * seq_len + 1);
  offsets_ = std::min(seq_len - 1, slack) + 1;
  unused_ = tokens - (sequences_ * seq_len + offsets_);
  rows_ = std::max<int64_t>(1, std::llround(std::sqrt(static_cast<double>(sequences_))));
  columns_ = (sequences_ + rows_ - 1) / rows_;
}

int64_t SampleOrder::permute(int64_t epoch, int64_t index) const {
  const CounterRandom random(seed_, Purpose::epoch_permutation, static_cast<uint64_t>(epoch));
  // The round function: a number below `bound` from the round and the other half.
  const auto mix = [&](int round, int64_t half, int64_t bound) {
    const uint64_t element = (static_cast<uint64_t>(round) << 56) | static_cast<uint64_t>(half);
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound), element));
  };
  do {
    int64_t row = index / columns_, column = index % columns_;
    for (int round = 0; round < kRounds; round += 2) {
      row = (row + mix(round, column, rows_)) % rows_;
      column = (column + mix(round + 1, row, columns_)) % columns_;
    }
    index = row * columns_ + column;
  } while (index >= sequences_);
  return index;
}

int64_t SampleOrder::first_token(int64_t epoch, int64_t index) const {
  if (epoch < 0 || index < 0 || index >= sequences_) {
    fail_runtime("sequence {} of epoch {} does not exist: an epoch has {}", index, epoch,
                 sequences_);
  }
  const CounterRandom random(seed_, Purpose::epoch_offset, static_cast<uint64_t>(epoch));
  const auto offset = static_cast<int64_t>(random.below(static_cast<uint64_t>(offsets_), 0));
  return permute(epoch, index) * seq_len_ + offset;
}

SamplePosition SampleOrder::advance(SamplePosition position, int64_t count) const {
  const int64_t index = position.index + count;
  return {position.epoch + index / sequences_, index % sequences_};
}

}  // namespace dashlm
