// Products of f32 tensors, for operations whose operands are at hand in f32.
#pragma once

#include "ops/core/matmul.h"

namespace dashlm::cpu {

// C = alpha · op(A) · op(B) + addend, with the shapes of ops/core/matmul.h. `addend` (of C's shape)
// may be null, or C itself.
void multiply(const Tensor& c, const float* addend, const ConstTensor& a, const ConstTensor& b,
              const MatmulOptions& options = {});

}  // namespace dashlm::cpu
