// Softmax cross-entropy, fused with its gradient.
#pragma once

#include "ops/context.h"

namespace dashlm {

constexpr int32_t kIgnoredTarget = -1;

// losses (N) = -log softmax(logits)[target] in nats, 0 where the target is kIgnoredTarget.
// logits (N, V) are replaced by their gradient times `scale`: scale · (softmax - one_hot), 0 for
// ignored targets. targets (N) i32 in [-1, V).
void cross_entropy(Context& context, const Tensor& losses, const Tensor& logits,
                   const Tensor& targets, float scale);

// The losses alone; the logits stay as they are.
void cross_entropy_loss(Context& context, const Tensor& losses, const Tensor& logits,
                        const Tensor& targets);

}  // namespace dashlm
