// One step of AdamW (Loshchilov and Hutter 2019) on a stack of blocks.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

struct AdamwStep {
  float lr = 0;
  float beta1 = 0, beta2 = 0;
  float eps = 0;
  float weight_decay = 0;    // decoupled: weight · (1 - lr · weight_decay) first
  float gradient_scale = 1;  // multiplies the gradient: clipping
  int64_t step = 1;          // counted from 1, for bias correction
};

// The blocks of `weights` at `places` (N, 2) i64 (see ops/blocks/blocks.h) and the moments (N, r,
// c) are updated in place; `gradients` is laid out like `weights`, and lr_scale (N) multiplies each
// block's learning rate.
//   m <- beta1·m + (1-beta1)·g        v <- beta2·v + (1-beta2)·g²
//   w <- w·(1 - lr·wd) - lr · m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + eps)
void adamw(Context& context, const Tensor& weights, const Tensor& gradients, const Tensor& places,
           const Tensor& lr_scale, const Tensor& moment1, const Tensor& moment2,
           const AdamwStep& step);

}  // namespace dashlm
