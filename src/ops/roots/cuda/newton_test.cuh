// The test of a Newton step, whose first part, the largest magnitudes of M - I, is found by whoever
// has the elements in hand.
#pragma once

#include "ops/core/cuda/operations.h"
#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {

// Bits of |x|. As integers they are ordered like magnitudes, with NaN above infinity, so that a
// maximum over them finds whatever is wrong, in any order.
__device__ inline int32_t magnitude_bits(float x) {
  return static_cast<int32_t>(__float_as_uint(x) & 0x7FFFFFFFu);
}

struct Larger {
  __device__ int32_t operator()(int32_t a, int32_t b) const { return a < b ? b : a; }
};

// Bits of a magnitude for each block, zero at first.
Tensor take_magnitudes(Context& context, int64_t blocks);

// What becomes of each active block whose residual has these bits.
void judge_blocks(const Context& context, const NewtonTest& test, const Tensor& largest);

}  // namespace dashlm::cuda
