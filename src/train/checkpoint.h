// Saving and restoring a run.
//
// A checkpoint folder holds
//   model.safetensors      the weights the model computes with, in their type, under Hugging Face
//                          names (src/model/hf_format.h)
//   config.json            what transformers needs to load them
//   tokenizer.model        the run's tokenizer, if it has one, with the files beside it that
//                          transformers needs (src/model/hf_tokenizer.h)
//   optimizer.safetensors  the optimizer's state, named by block; and the f32 weights of each block
//                          where those of the model are rounded
//   run.json               RunState and the resolved configuration
//   manifest.json          sizes and checksums (src/io/checkpoint_store.h)
//
// Of several ranks each writes a part of the weights and the state of its own blocks, as
// model-00001-of-00004.safetensors and so on (src/io/safetensors_set.h), side by side; so they must
// share the file system. Any number of ranks can restore it. Every rank makes the calls below.
#pragma once

#include <string>

#include "io/checkpoint_store.h"
#include "model/hf_tokenizer.h"
#include "train/engine.h"

namespace dashlm {

// Everything besides tensors that the next step depends on.
struct RunState {
  int64_t step = 0;     // steps done, skipped ones included
  int64_t updates = 0;  // steps that changed the weights
  int64_t tokens = 0;   // trained on
  SamplePosition position;
  int64_t skipped = 0;
  int64_t skipped_in_a_row = 0;
  // Of the run's processes up to here, with validation, saving and all else that took time. Steps
  // that a kill undid are not in it. Earlier versions counted the steps alone.
  double seconds = 0;
  int64_t data_fingerprint = 0;  // of the training tokens

  void describe(Schema& schema);
};

// Returns the folder written. `tokenizer`: the run's, or an empty one; rank 0's counts.
std::string save_checkpoint(CheckpointStore& store, Engine& engine, const RunConfig& config,
                            const RunState& state, const HfTokenizer& tokenizer);

// Restores the engine from `folder`. Throws when it was written by a run whose model, optimizer or
// training data differ from `config` and `data_fingerprint`, naming what differs, or when it is
// further on than the config's last step; warns about other differences that change how the run
// goes on, and says what they do to learning rate and order of the data.
RunState restore_checkpoint(const std::string& folder, Engine& engine, const RunConfig& config,
                            int64_t data_fingerprint);

// The same comparison with the resolved config at `path`, of a run that has no checkpoint yet.
void compare_with_config_of_run(const std::string& path, const RunConfig& config);

// How far a checkpoint's run had come.
RunState read_checkpoint_state(const std::string& folder);
// The configuration a checkpoint was written with.
RunConfig read_checkpoint_config(const std::string& folder);

// Reads the weights of a checkpoint into `weights` (flat, on `device`), f32 or bf16, whichever of
// them the files hold.
void load_weights(const std::string& folder, const ModelConfig& config,
                  const ParameterLayout& layout, Device& device, const Tensor& weights);

// `path` itself if it is a checkpoint folder, else the newest sound checkpoint of the run, or of
// the folder of checkpoints, at `path`.
std::string find_checkpoint(const std::string& path);

}  // namespace dashlm
