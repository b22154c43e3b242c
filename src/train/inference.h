// A model for use without training: its weights, and memory for a forward pass.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/batch_loader.h"
#include "model/llama.h"
#include "model/quantization.h"
#include "train/engine.h"

namespace dashlm {

class InferenceModel {
 public:
  // Loads the weights of a checkpoint folder. Computes in the precision of its run
  // (train.precision). evaluate() takes up to `sequences` sequences.
  InferenceModel(Device& device, const RunConfig& config, const std::string& folder,
                 int64_t sequences);

  LossSum evaluate(const Batch& batch, const ForwardObserver& observer = {});
  // From now on the model computes with rounded weights. The files stay as they are.
  RoundingError quantize(const Quantization& quantization);

  // For text generation: appends tokens to the text so far, and returns the logits (V) of the next
  // token. At most config.seq_len tokens fit; see seen().
  std::vector<float> append(std::span<const int32_t> tokens);
  int64_t seen() const { return cache_.length; }
  void forget() { cache_.length = 0; }

 private:
  void build();
  void walk_through();

  Device& device_;
  const ModelConfig config_;
  const ModelTypes types_;
  const ParameterLayout layout_;
  const int64_t sequences_;
  Arena lasting_, activations_, scratch_;
  Context context_;
  Tensor weights_, tokens_, targets_, losses_, logits_;
  KeyValueCache cache_;
  std::unique_ptr<Llama> llama_;
};

}  // namespace dashlm
