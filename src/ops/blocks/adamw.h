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

struct AdamwTensors {
  Tensor weights;           // flat
  ConstTensor gradients;    // laid out like the weights
  ConstTensor table;        // (N, 5) i64: see block_table.h
  ConstTensor lr_scale;     // (N): multiplies each block's learning rate
  Tensor moment1, moment2;  // (N, r, c)
};

// Updates the blocks in the table and their moments in place.
//   m <- beta1·m + (1-beta1)·g        v <- beta2·v + (1-beta2)·g²
//   w <- w·(1 - lr·wd) - lr · m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + eps)
void adamw(Context& context, const AdamwTensors& t, const AdamwStep& step);

}  // namespace dashlm
