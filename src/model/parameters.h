// The parameters of a Llama, and the typed views that the model computes with.
#pragma once

#include <span>
#include <vector>

#include "model/model_config.h"
#include "tensor/parameter_layout.h"

namespace dashlm {

// The parameters of a Llama. Names: embed, layerI.attn_norm, layerI.qkv, layerI.attn_out,
// layerI.mlp_norm, layerI.gate, layerI.up, layerI.down, final_norm, lm_head (absent when tied).
// The rows of qkv are those of .q, .k and .v.
ParameterLayout llama_parameters(const ModelConfig& config);

// Views into one flat allocation, of weights or of gradients.
struct LayerTensors {
  int64_t offset = 0;  // the first parameter's, in the flat allocation
  Tensor attn_norm;    // (d)
  Tensor qkv;          // ((H + 2G)·h, d)
  Tensor attn_out;     // (d, H·h)
  Tensor mlp_norm;     // (d)
  Tensor gate_up;      // (2f, d): gate and up lie side by side, so one product serves both
  Tensor down;         // (d, f)
};

struct LlamaTensors {
  Tensor embed;  // (V, d), at offset 0
  std::vector<LayerTensors> layers;
  int64_t head_offset = 0;  // final_norm's
  Tensor final_norm;        // (d)
  Tensor lm_head;           // (V, d); the same memory as embed when tied
};

LlamaTensors llama_tensors(const ParameterLayout& layout, const ModelConfig& config,
                           const Tensor& flat);

// Draws initial values of elements [first, first + host.size()) of parameter number `index`, on all
// threads. Each value is a function of (seed, index, element) alone.
void initialize_parameter(const Parameter& parameter, size_t index, uint64_t seed, int64_t first,
                          std::span<float> host);

}  // namespace dashlm
