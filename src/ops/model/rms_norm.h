// Root-mean-square normalisation (Zhang and Sennrich 2019).
//
// x and d_x belong to the residual stream: f32, or bf16 like the rest. out, d_out and weight are
// f32 or bf16, of one type; rstd and d_weight are f32. All arithmetic is f32.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// out (N, d) = x · rstd · weight with rstd (N) = 1 / sqrt(mean_d(x²) + eps), which is kept for the
// backward pass. weight (d).
void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps);

// d_x (N, d) += gradient through the normalisation; d_weight (d) += its own. d_x accumulates, since
// x also reaches the output through the residual stream. `rounded` (N, d) bf16, if not null,
// becomes a copy of the new d_x: the operand of the products that follow.
void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight, const Tensor* rounded = nullptr);

}  // namespace dashlm
