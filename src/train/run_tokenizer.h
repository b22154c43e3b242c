// The tokenizer of a run: the run keeps a copy and its checkpoints carry one, so that they can be
// moved, and the data be gone.
#pragma once

#include <string>

#include "data/token_stream.h"
#include "model/hf_tokenizer.h"
#include "train/run_config.h"

namespace dashlm {

// Copies data.tokenizer into the run directory config.out, unless there is one or the file is
// missing.
void keep_tokenizer(const RunConfig& config);

// The tokenizer of a checkpoint: the one that lies in its folder, else the copy in the run
// directory around it, else data.tokenizer. "" if the config names none.
std::string find_tokenizer(const std::string& checkpoint, const RunConfig& config);

// What checkpoints carry: the copy of the run directory, or else data.tokenizer. Texts begin with
// bos unless the training data was made without (dataset.json beside it says so). Training does not
// need a tokenizer: one that is missing or has more tokens than the model is left out, with a
// warning.
HfTokenizer tokenizer_of_run(const RunConfig& config, const TokenStream& training_data);

}  // namespace dashlm
