// Largest magnitudes, found as integers.
#pragma once

#include <cstdint>

#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {

// Bits of |x|. As integers they are ordered like magnitudes, with NaN above infinity, so that a
// maximum over them finds whatever is wrong, in any order.
__device__ inline int32_t magnitude_bits(float x) {
  return static_cast<int32_t>(__float_as_uint(x) & 0x7FFFFFFFu);
}

constexpr int32_t kInfinityBits = 0x7F800000;  // those of NaN are larger

__device__ inline float from_bits(int32_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits));
}

struct Larger {
  __device__ int32_t operator()(int32_t a, int32_t b) const { return a < b ? b : a; }
};

// largest = max(largest, value of any thread of this thread block)
__device__ inline void raise_to(int32_t* largest, int32_t value) {
  value = block_reduce(value, 0, Larger());
  if (threadIdx.x == 0) atomicMax(largest, value);
}

// Bits of a magnitude for each block, zero at first.
inline Tensor take_magnitudes(Context& context, int64_t blocks) {
  const Tensor largest = context.scratch.take("largest magnitudes", {blocks}, DType::i32);
  context.clear(largest);
  return largest;
}

}  // namespace dashlm::cuda
