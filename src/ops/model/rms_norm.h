// Root-mean-square normalisation (Zhang and Sennrich 2019).
//
// x and d_x belong to the residual stream: f32, or bf16 like the rest. out, d_out and weight are
// f32 or bf16, of one type; rstd and d_weight are f32. All arithmetic is f32.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// out (N, d) = x · rstd · weight with rstd (N) = 1 / sqrt(mean_d(x²) + eps), which is kept for the
// backward pass. weight (d).
void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const ConstTensor& x,
              const ConstTensor& weight, float eps);

struct RmsNormBackward {
  Tensor d_x, d_weight;  // (N, d), (d)
  ConstTensor d_out;     // (N, d)
  ConstTensor x, rstd, weight;
  Tensor rounded = {};  // (N, d) bf16, or absent
};

// d_x += gradient through the normalisation; d_weight += its own. d_x accumulates, since x also
// reaches the output through the residual stream. `rounded` becomes a copy of the new d_x: the
// operand of the products that follow.
void rms_norm_backward(Context& context, const RmsNormBackward& t);

}  // namespace dashlm
