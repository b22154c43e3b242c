// The "data" section of a training configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.h"

namespace dashlm {

struct DataConfig {
  std::vector<std::string> train;
  std::vector<std::string> val;
  std::string tokenizer;
  int64_t seed = 42;
  int64_t prefetch = 4;

  void describe(Schema& s) {
    s.path("train", train,
           "token files to train on: files, directories (*.bin and chunk_* in them) or patterns");
    s.path("val", val, "token files for validation, named in the same way; empty for none");
    s.path("tokenizer", tokenizer,
           "SentencePiece model that made the tokens; only generating text needs it");
    s.field("seed", seed, "seed of the order of the training sequences", {.min = 0});
    s.field("prefetch", prefetch, "batches read ahead by a thread; 0 reads when asked",
            {.min = 0, .max = 1024});
  }
};

}  // namespace dashlm
