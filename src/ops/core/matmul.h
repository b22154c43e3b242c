// Matrix products, plain and over stacks.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1.0f;
};

// C = alpha · op(A) · op(B), row-major. C must not overlap A or B. A and B are both f32 or both
// bf16; C is f32, or of their type. Sums are taken in f32 and rounded once.
// Shapes (M, N), (M, K), (K, N) after transposition; or with a leading stack dimension S on all
// three.
void matmul(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
            const MatmulOptions& options = {});

// C = addend + alpha · op(A) · op(B); `addend` has the shape and the type of C and may be C
// itself.
void matmul_add(Context& context, const Tensor& c, const ConstTensor& addend, const ConstTensor& a,
                const ConstTensor& b, const MatmulOptions& options = {});

}  // namespace dashlm
