// From documents to a dataset: a directory with
//
//   tokenizer.model               the SentencePiece model in use
//   train_00000.bin ...           token shards
//   val_00000.bin ...
//   dataset.json                  what it is and where it came from; written last, so that its
//                                 presence means that the dataset is complete
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_shard.h"

namespace dashlm {

struct TokenizeOptions {
  std::vector<std::string> inputs;  // as in DocumentReader
  std::string out;                  // directory, made if need be
  // One of the two: a SentencePiece model, or the size of one to be trained on the inputs.
  std::string tokenizer;
  int64_t train_tokenizer = 0;
  // Of every round(1 / val_fraction) documents the last goes to validation; 0 for none.
  double val_fraction = 0.01;
  int64_t shard_tokens = int64_t{1} << 26;
  ShardFormat format = ShardFormat::dashlm;
  int64_t threads = 1;
  bool skip_bad = false;
  bool bos = true;     // a token before every document
  bool eos = false;    // a token after every document
  bool force = false;  // replace the dataset that is in `out`
};

// One of the two parts of a dataset.
struct TokenizedPart {
  int64_t documents = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;  // of text; bits per byte = loss / ln 2 * tokens / bytes
};

struct TokenizeResult {
  TokenizedPart train, val;
  int64_t skipped = 0;  // bad documents
  int64_t vocab_size = 0;
};

// The dataset depends on the options other than `threads` alone. Memory stays bounded: a few MiB of
// text a thread and one shard of each part. Throws a bad_input Error when `out` holds a dataset
// and `force` is not set.
TokenizeResult tokenize(const TokenizeOptions& options);

}  // namespace dashlm
