// Hugging Face's names and layout of Llama weights. Checkpoints store weights in this form.
//
// Two things differ from dashlm's own layout. The fused query-key-value matrix is stored as three.
// Hugging Face's RoPE rotates element i of a head with element i + h/2, dashlm's rotates 2i with 2i
// + 1. So the rows of each query and key head are stored in the order 0, 2, 4, ..., 1, 3, 5, ....
// Loading undoes this permutation exactly.
#pragma once

#include <string>
#include <vector>

#include "model/parameters.h"

namespace dashlm {

// One stored tensor: some rows of one parameter.
struct HfTensor {
  std::string name;
  Shape shape;
  int64_t offset = 0;    // elements from the start of the flat parameters
  int64_t head_dim = 0;  // rows of each head are reordered; 0: rows are stored as they are

  // Convert to and from the stored order. `ours` and `stored` are host memory of shape.elements()
  // elements of `size` bytes each.
  void encode(const void* ours, void* stored, int64_t size) const;
  void decode(const float* stored, float* ours) const;
};

// The stored tensors of all parameters, in an order that covers the flat allocation from start to
// end.
std::vector<HfTensor> hf_tensors(const ModelConfig& config, const ParameterLayout& layout);

// The text of the config.json that transformers reads, for weights of type f32 or bf16. `bos` and
// `eos` are the tokenizer's; -1 means none.
std::string hf_config_text(const ModelConfig& config, DType type, int32_t bos, int32_t eos);

}  // namespace dashlm
