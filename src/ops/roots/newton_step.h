// The step of a Newton iteration: its correction, and the test for convergence, block by block.
// State bits and invariances are those of stack_linalg.h.
#pragma once

#include "ops/stacks/stack_linalg.h"

namespace dashlm {

struct NewtonTest {
  Tensor state;     // (S) i32
  Tensor steps;     // (S) i32, steps made
  Tensor residual;  // (S) f32, max |M - I| that the last step began with
  float tolerance = 0;
  bool first = false;  // the first step of an iteration may begin far from I
};

// The correction of a Newton step, N = a·I + b·M, and the test that goes with it. For every active
// block the residual is max |M - I|. Below the tolerance the block is done; above 2 after the first
// step, or not finite, it has failed; otherwise it makes this step. N may be M.
//
// Why 2: from the first step on the eigenvalues of M lie in [0, 1] in exact arithmetic, so elements
// of M - I are at most 1. An element above 2 means an eigenvalue outside [-1, 3], from where these
// iterations do not come back.
void newton_correction(Context& context, const Tensor& n, const ConstTensor& m, float a, float b,
                       const NewtonTest& test);

// M = A·B (in `precision`) and the correction N of M with its test, in one: as symmetric_matmul()
// and newton_correction() would do one after the other. M may be absent if nobody wants it; if it
// is there, N may be A or B. The copies of M and N, if they have any, are written too. Blocks of M
// and N that were not active before become undefined.
struct NewtonProduct {
  SymmetricStack n, m;
  SymmetricStack a, b;
  MatmulPrecision precision;
};
void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test);

}  // namespace dashlm
