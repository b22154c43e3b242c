// Products of stacks of blocks (N, r, c): with themselves, and with others.
#pragma once

#include "ops/core/context.h"
#include "ops/core/precision.h"

namespace dashlm {

enum class FactorSide { left, right };

// factors (N, n, n) = beta · factors + weight · G·Gᵀ (left, n = r) or Gᵀ·G (right, n = c) for
// G (N, r, c). Half of each symmetric product is computed and mirrored. G is rounded to
// `precision`, products are added up in f32.
void update_factors(Context& context, const Tensor& factors, const ConstTensor& blocks,
                    FactorSide side, float beta, float weight,
                    MatmulPrecision precision = MatmulPrecision::fp32);

// C = A·B for stacks A (N, r, k) and B (N, k, c). Two such products make L̄·M̃·R̄. A and B are
// rounded to `precision`, and products are added up in f32. C must overlap neither.
void multiply_blocks(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
                     MatmulPrecision precision);

}  // namespace dashlm
