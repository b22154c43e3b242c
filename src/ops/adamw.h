// One step of AdamW (Loshchilov and Hutter 2019) on one parameter.
#pragma once

#include "ops/context.h"

namespace dashlm {

struct AdamwStep {
  float lr = 0;
  float beta1 = 0, beta2 = 0;
  float eps = 0;
  float weight_decay = 0;    // decoupled: weight · (1 - lr · weight_decay) first
  float gradient_scale = 1;  // multiplies the gradient: clipping
  int64_t step = 1;          // counted from 1, for bias correction
};

// weight, moment1 and moment2 are updated in place; all four tensors have the same number of
// elements.
//   m <- beta1·m + (1-beta1)·g        v <- beta2·v + (1-beta2)·g²
//   w <- w·(1 - lr·wd) - lr · m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + eps)
void adamw(Context& context, const Tensor& weight, const Tensor& gradient, const Tensor& moment1,
           const Tensor& moment2, const AdamwStep& step);

}  // namespace dashlm
