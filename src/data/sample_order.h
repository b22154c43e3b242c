// The tokens of each training sequence: sampling without replacement.
//
// An epoch is one permutation of the sequences and one random offset that shifts all of them. Both
// are functions of (seed, epoch), computed without a table. So the order is the same for every
// number of ranks, and a SamplePosition is the whole state.
//
// The permutation is a Feistel network over pairs [0, rows) x [0, columns) with modular addition
// (Black and Rogaway: "Ciphers with arbitrary finite domains", CT-RSA 2002). A result outside the
// range is sent through again. This is rare, since rows x columns exceeds the number of sequences
// by less than its square root.
#pragma once

#include <cstdint>

namespace dashlm {

// The next sequence: the `index`-th of epoch `epoch`.
struct SamplePosition {
  int64_t epoch = 0;
  int64_t index = 0;
  bool operator==(const SamplePosition&) const = default;
};

class SampleOrder {
 public:
  // A sequence is seq_len + 1 tokens; its last token is only a target. Sequences start seq_len
  // tokens apart. Throws a bad_input Error when there are fewer than seq_len + 1 tokens.
  SampleOrder(int64_t tokens, int64_t seq_len, uint64_t seed);

  // Sequences of an epoch: one fewer than would fit, so that every offset below seq_len fits.
  int64_t sequences() const { return sequences_; }
  int64_t seq_len() const { return seq_len_; }
  // Tokens at the end of the stream that no offset reaches in any epoch: tokens mod seq_len, or
  // none where there is one sequence only.
  int64_t unused() const { return unused_; }
  // The position in the stream where the sequence starts; index in [0, sequences()).
  int64_t first_token(int64_t epoch, int64_t index) const;
  // The position `count` sequences later, if need be in a later epoch.
  SamplePosition advance(SamplePosition position, int64_t count) const;

 private:
  int64_t permute(int64_t epoch, int64_t index) const;

  int64_t seq_len_;
  uint64_t seed_;
  int64_t sequences_;
  int64_t offsets_;  // number of offsets
  int64_t unused_;
  int64_t rows_, columns_;  // rows * columns >= sequences
};

}  // namespace dashlm
