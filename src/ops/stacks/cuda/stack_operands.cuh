// Stacks as products take them: rounded copies, and where they lie.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <optional>

#include "ops/core/cuda/gemm.h"
#include "ops/core/cuda/support.cuh"
#include "ops/stacks/stack_linalg.h"

namespace dashlm::cuda {

constexpr int kTile = 32, kTileRows = 8;  // threads of a block: kTile across, kTileRows down

inline LaunchShape for_tiles(int64_t count) {
  constexpr int64_t kMostBlocks = 1 << 16;  // of a grid; the kernels loop
  return {dim3(static_cast<unsigned>(std::min(count, kMostBlocks))), dim3(kTile, kTileRows)};
}

// To nearest with ties to even, as the CPU does.
__device__ inline void round_to(float& out, float x) {
  const uint32_t word = __float_as_uint(x);
  const uint32_t rounded = (word + 0xFFFu + (word >> 13 & 1u)) & ~0x1FFFu;
  out = isnan(x) ? x : __uint_as_float(rounded);
}
__device__ inline void round_to(__half& out, float x) {
  out = __float2half_rn(x);
}
__device__ inline void round_to(__nv_bfloat16& out, float x) {
  out = __float2bfloat16_rn(x);
}

// Rows of `in` (S·n, n), rounded, to rows of `stride` elements; blocks that are not active are left
// out. A warp per row.
template <class T>
__global__ void round_rows(T* out, const float* in, const int32_t* state, int64_t rows, int64_t n,
                           int64_t stride) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileRows + threadIdx.y;
  for (int64_t row = first; row < rows; row += static_cast<int64_t>(gridDim.x) * kTileRows) {
    if (state && !(state[row / n] & kActive)) continue;
    for (int64_t j = threadIdx.x; j < n; j += kTile) {
      round_to(out[row * stride + j], in[row * n + j]);
    }
  }
}

// Calls act(data) with a copy's elements by their type: float (for tf32), __half or __nv_bfloat16.
template <class Act>
void with_rounded(const Tensor& copy, const Act& act) {
  if (copy.dtype == DType::f16) return act(static_cast<__half*>(copy.data));
  if (copy.dtype == DType::bf16) return act(static_cast<__nv_bfloat16*>(copy.data));
  act(static_cast<float*>(copy.data));
}

// Fills a copy of `stack`, whose rows it pads; null state: all blocks are active.
inline void fill_rounded(const Context& context, const Tensor& copy, const ConstTensor& stack,
                         const int32_t* state = nullptr) {
  const int64_t rows = stack.dim(0) * stack.dim(1);
  with_rounded(copy, [&]<class T>(T* to) {
    launch(context, round_rows<T>, for_tiles(divide_up(rows, kTileRows)), to, stack.f32(), state,
           rows, stack.dim(2), copy.dim(2));
  });
}

// A stack as products in `precision` take it: itself for fp32, else a copy that it has or that is
// made in scratch.
class StackOperand {
 public:
  StackOperand(Context& context, const TensorName& name, const ConstTensor& stack,
               MatmulPrecision precision)
      : stack_(stack), copy_(dashlm::take_rounded(context, name, stack.shape, precision)) {}
  StackOperand(Context& context, const TensorName& name, const SymmetricStack& stack,
               MatmulPrecision precision)
      : stack_(stack.values) {
    if (stack.has_copy() && stack.precision == precision && precision != MatmulPrecision::fp32) {
      stack_ = stack.rounded;
    } else {
      copy_ = dashlm::take_rounded(context, name, stack.values.shape, precision);
    }
  }

  // To be called before operand(); null state: all blocks are active.
  void fill(const Context& context, const int32_t* state = nullptr) const {
    if (copy_) fill_rounded(context, copy_, stack_, state);
  }
  GemmOperand operand(bool transposed = false) const {
    return copy_ ? operand_of(copy_, transposed) : operand_of(stack_, transposed);
  }

 private:
  ConstTensor stack_;
  Tensor copy_;  // absent: the stack itself is taken
};

}  // namespace dashlm::cuda
