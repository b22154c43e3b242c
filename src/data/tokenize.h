// Makes a dataset of documents. data/dataset_folder.h describes its folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_shard.h"

namespace dashlm {

struct TokenizeOptions {
  std::vector<std::string> inputs;  // as in DocumentReader
  std::string out;                  // directory, made if need be
  // One of the two is set: a SentencePiece model, or the size of a model to train on the inputs.
  std::string tokenizer;
  int64_t train_tokenizer = 0;
  // The last of every round(1 / val_fraction) documents goes to validation; 0 means none does.
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
  int64_t empty = 0;    // documents without text
  int64_t unknown = 0;  // tokens for characters that the tokenizer does not know
  int64_t vocab_size = 0;
};

// The dataset does not depend on `threads`. Memory is bounded: at most 200 MiB a thread (usually a
// few), one shard of each part, and 3 GiB where there are documents of kMaxDocumentBytes. Throws a
// bad_input Error when `out` holds a dataset and `force` is not set. With `force` the old dataset
// stays until the new one is complete.
TokenizeResult tokenize(const TokenizeOptions& options);

}  // namespace dashlm
