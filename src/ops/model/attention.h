// Causal self-attention with grouped queries (Ainslie et al. 2023).
//
// `qkv` holds, per token, H query heads, then G key heads, then G value heads of dimension h, all
// after RoPE: (B, T, H + 2G, h). H is a multiple of G; query head i reads key head i / (H/G).
// All tensors are f32 or all bf16, except log_sum_exp, which is f32, as are scores and sums.
// Scores are scaled by 1/sqrt(h). Only the log-sum-exp of each row of scores is kept for the
// backward pass; scores exist for one block of query rows at a time.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

struct AttentionHeads {
  int64_t query = 0;      // H
  int64_t key_value = 0;  // G
};

// out (B, T, H, h), log_sum_exp (B, H, T).
void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
               const ConstTensor& qkv, const AttentionHeads& heads);

struct AttentionBackward {
  Tensor d_qkv;       // (B, T, H + 2G, h), overwritten
  ConstTensor d_out;  // (B, T, H, h)
  ConstTensor out, log_sum_exp, qkv;
};
void attention_backward(Context& context, const AttentionBackward& t, const AttentionHeads& heads);

// Generation: the rows of qkv (1, T, H + 2G, h) are positions `past` to `past` + T. Their keys and
// values are stored in keys and values (T_max, G, h), which hold the earlier positions, and every
// row attends to all positions up to its own. out (1, T, H, h).
void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const ConstTensor& qkv, const AttentionHeads& heads, int64_t past);

}  // namespace dashlm
