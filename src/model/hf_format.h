// Hugging Face's names and layout of Llama weights, which is how checkpoints store them.
//
// Two things differ from ours: the fused query-key-value matrix is stored as three, and RoPE there
// rotates element i of a head with element i + h/2 where we rotate 2i with 2i + 1. So the rows of
// each query and key head are stored in the order 0, 2, 4, ..., 1, 3, 5, ...: a permutation, undone
// exactly on loading.
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
  int64_t head_dim = 0;  // of heads whose rows are reordered; 0: rows are stored as they are

  // `ours` and `stored` are host memory of shape.elements() elements of `size` bytes each.
  void encode(const void* ours, void* stored, int64_t size) const;
  void decode(const float* stored, float* ours) const;
};

// Every parameter, in an order that covers the flat allocation from start to end.
std::vector<HfTensor> hf_tensors(const ModelConfig& config, const ParameterLayout& layout);

// The config.json that transformers reads, as JSON text, for weights of type f32 or bf16. `bos` and
// `eos` are the tokenizer's, -1 where there is none.
std::string hf_config_text(const ModelConfig& config, DType type, int32_t bos, int32_t eos);

}  // namespace dashlm
