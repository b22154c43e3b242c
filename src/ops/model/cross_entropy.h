// Softmax cross-entropy, fused with its gradient.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

constexpr int32_t kIgnoredTarget = -1;

// losses (N) = -log softmax(logits)[target] in nats, 0 where the target is kIgnoredTarget.
// gradient (N, V) = scale · (softmax - one_hot), 0 for ignored targets. logits (N, V) f32, losses
// f32, targets (N) i32 in [-1, V). The gradient is f32 or bf16; if f32 it may be the logits'
// memory.
void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const ConstTensor& logits, const ConstTensor& targets, float scale);

// The losses alone; the logits stay as they are.
void cross_entropy_loss(Context& context, const Tensor& losses, const ConstTensor& logits,
                        const ConstTensor& targets);

// The number of tokens to take at a time, so that only their logits over the vocabulary exist: few
// enough to save memory, and enough for an efficient product.
int64_t logit_rows(const Context& context, int64_t tokens, int64_t vocabulary);

}  // namespace dashlm
