// The tokenizer of a run. The run and its checkpoints have a copy, so that they can be moved, and
// do not need the data's folder.
#pragma once

#include <string>

#include "data/token_stream.h"
#include "model/hf_tokenizer.h"
#include "train/run_config.h"

namespace dashlm {

// Copies data.tokenizer into the run directory config.out, unless a copy exists or the file is
// missing.
void keep_tokenizer(const RunConfig& config);

// The path of a checkpoint's tokenizer: the file in its folder, else the copy in the run directory
// around it, else data.tokenizer. "" if the config names none.
std::string find_tokenizer(const std::string& checkpoint, const RunConfig& config);

// The tokenizer for checkpoints: the copy of the run directory, or else data.tokenizer. Texts begin
// with bos unless the dataset.json of the training data says otherwise. Training needs no
// tokenizer, so a tokenizer that is missing, or has more tokens than the model, is left out with a
// warning.
HfTokenizer tokenizer_of_run(const RunConfig& config, const TokenStream& training_data);

}  // namespace dashlm
