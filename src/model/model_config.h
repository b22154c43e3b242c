// The shape of a Llama.
#pragma once

#include <cstdint>

#include <utility>

#include "config/schema.h"
#include "tensor/dtype.h"

namespace dashlm {

// The precision of a model's passes. docs/gpu.md ("Precision") lists the type of each tensor.
enum class ModelPrecision { fp32, bf16 };

template <>
struct EnumNames<ModelPrecision> {
  static constexpr std::pair<ModelPrecision, const char*> names[] = {
      {ModelPrecision::fp32, "fp32"},
      {ModelPrecision::bf16, "bf16"},
  };
};

constexpr DType dtype_of(ModelPrecision precision) {
  return precision == ModelPrecision::bf16 ? DType::bf16 : DType::f32;
}

// Types of tensors in memory. With any types, arithmetic, sums, softmax, losses and gradients of
// weights are f32.
struct ModelTypes {
  DType compute = DType::f32;   // weights, activations and their gradients
  DType residual = DType::f32;  // the residual stream and its gradient: f32, or as `compute`
};

struct ModelConfig {
  int64_t n_layer = 4;
  int64_t d_model = 256;
  int64_t n_head = 4;
  int64_t n_kv_head = 0;  // 0: n_head
  int64_t d_ff = 0;       // 0: 8/3 · d_model, rounded down, then up to a multiple of 256
  int64_t vocab_size = 4096;
  int64_t seq_len = 256;
  bool tie_embeddings = false;
  double rope_theta = 10000.0;
  double norm_eps = 1e-5;
  double init_std = 0.02;

  void describe(Schema& schema);
  // Replaces 0 by the value that it stands for, and checks conditions on several fields. Throws a
  // bad_input Error.
  void resolve();

  int64_t head_dim() const { return d_model / n_head; }
  // Heads in the fused projection: queries, keys and values.
  int64_t qkv_heads() const { return n_head + 2 * n_kv_head; }
  int64_t qkv_width() const { return qkv_heads() * head_dim(); }
};

}  // namespace dashlm
