// Saving and restoring a run.
//
// A checkpoint folder holds
//   model.safetensors      the weights of the passes, in their type, under Hugging Face's names
//                          (src/model/hf_format.h)
//   config.json            the model's shape, for transformers
//   tokenizer.model        the run's tokenizer, if it has one, beside its other files for
//                          transformers (src/model/hf_tokenizer.h)
//   optimizer.safetensors  the optimizer's state, named by block; also the f32 weights of each
//                          block, if the weights of the passes are rounded
//   run.json               RunState and the resolved configuration
//   manifest.json          sizes and checksums (src/io/checkpoint_store.h)
//
// With several ranks, each rank writes a part of the weights and the state of its own blocks, as
// model-00001-of-00004.safetensors and so on (src/io/safetensors_set.h). They write at the same
// time, so they must share the file system. Any number of ranks can restore a checkpoint. Every
// rank makes the calls below.
#pragma once

#include <string>

#include "io/checkpoint_store.h"
#include "model/hf_tokenizer.h"
#include "train/engine.h"

namespace dashlm {

// The state, besides tensors, on which the next step depends.
struct RunState {
  int64_t step = 0;     // steps done, skipped ones included
  int64_t updates = 0;  // steps that changed the weights
  int64_t tokens = 0;   // trained on
  SamplePosition position;
  int64_t skipped = 0;
  int64_t skipped_in_a_row = 0;
  // Wall time of the run's processes up to here, with validation, saving and everything else. Steps
  // that a kill undid do not count. Earlier versions counted the steps alone.
  double seconds = 0;
  int64_t data_fingerprint = 0;  // of the training tokens

  void describe(Schema& schema);
};

// Returns the folder of the checkpoint. `tokenizer` is the run's, or an empty one. Rank 0's counts.
std::string save_checkpoint(CheckpointStore& store, Engine& engine, const RunConfig& config,
                            const RunState& state, const HfTokenizer& tokenizer);

// Restores the engine from `folder`. Throws when the checkpoint's model, optimizer or training data
// differ from `config` and `data_fingerprint`, and names the difference. Throws when the checkpoint
// is beyond the config's last step. Warns about other differences that change how the run goes on,
// and about their effect on learning rate and order of the data.
RunState restore_checkpoint(const std::string& folder, Engine& engine, const RunConfig& config,
                            int64_t data_fingerprint);

// Makes the same comparison with the resolved config at `path`, of a run without a checkpoint.
void compare_with_config_of_run(const std::string& path, const RunConfig& config);

// The state of the run that wrote the checkpoint.
RunState read_checkpoint_state(const std::string& folder);
// The configuration of the run that wrote the checkpoint.
RunConfig read_checkpoint_config(const std::string& folder);

// Reads the weights of a checkpoint into `weights` (flat, on `device`). The files may hold f32 or
// bf16.
void load_weights(const std::string& folder, const ModelConfig& config,
                  const ParameterLayout& layout, Device& device, const Tensor& weights);

// `path` itself if it is a checkpoint. Otherwise the newest sound checkpoint of the run, or of the
// folder of checkpoints, at `path`.
std::string find_checkpoint(const std::string& path);

}  // namespace dashlm
