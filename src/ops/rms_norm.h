// Root-mean-square normalisation (Zhang and Sennrich 2019), alone or fused with a residual
// addition.
#pragma once

#include "ops/context.h"

namespace dashlm {

// out (N, d) = x · rstd · weight with rstd (N) = 1 / sqrt(mean_d(x²) + eps), which is kept for the
// backward pass. weight (d).
void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps);

// d_x (N, d) += gradient through the normalisation; d_weight (d) += its own. d_x accumulates, since
// x also reaches the output through the residual stream.
void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight);

}  // namespace dashlm
