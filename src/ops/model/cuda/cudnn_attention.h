// Attention in bf16 by cuDNN's fused kernels (scaled dot product attention), deterministic in both
// directions. Shapes and meaning are those of ops/model/attention.h. The log-sum-exp is a natural
// logarithm, as in dashlm's own kernels, so either's backward pass may follow either's forward
// pass.
//
// Both return false and do nothing if cuDNN is missing or has no plan for the shape. The log then
// says why, once. The environment variable DASHLM_ATTENTION changes this: with "own" they always
// return false, and with "cudnn" they throw a runtime_failure Error instead.
//
// The plan decides the scratch memory. On Hopper and Ampere the deterministic backward pass takes 2
// bytes for every score, B · H · T · T of them.
#pragma once

#include "ops/model/attention.h"

namespace dashlm::cuda {

bool cudnn_attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
                     const ConstTensor& qkv, const AttentionHeads& heads);
bool cudnn_attention_backward(Context& context, const AttentionBackward& t,
                              const AttentionHeads& heads);

}  // namespace dashlm::cuda
