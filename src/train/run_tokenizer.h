// The tokenizer of a run, which its checkpoints carry.
#pragma once

#include "data/token_stream.h"
#include "model/hf_tokenizer.h"
#include "train/run_config.h"

namespace dashlm {

// That of the run directory (config.out/tokenizer.model), or else data.tokenizer. Texts begin with
// bos unless the training data was made without (dataset.json beside it says so). Training does not
// need a tokenizer: one that is missing or has more tokens than the model is left out, with a
// warning.
HfTokenizer tokenizer_of_run(const RunConfig& config, const TokenStream& training_data);

}  // namespace dashlm
