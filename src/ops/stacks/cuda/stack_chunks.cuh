// Element-wise work on a stack (S, n, n), cut into chunks that lie within one block of the stack
// each: large blocks are shared by many thread blocks, and no element needs a division to find out
// where it is.
#pragma once

#include "ops/core/cuda/support.cuh"
#include "tensor/tensor.h"

namespace dashlm::cuda {

// Elements [begin, end) of block s, which starts at element `start` of the stack.
struct Chunk {
  int64_t s, start, begin, end;
};

// Passed to kernels by value; a kernel goes through chunks blockIdx.x, blockIdx.x + gridDim.x, …
class StackChunks {
 public:
  explicit StackChunks(const ConstTensor& stack)
      : size_(stack.dim(1) * stack.dim(2)),
        per_block_(divide_up(size_, kElements)),
        count_(stack.dim(0) * per_block_) {}

  LaunchShape shape() const {
    constexpr int64_t kMostBlocks = 1 << 20;
    return {dim3(static_cast<unsigned>(count_ < kMostBlocks ? count_ : kMostBlocks)),
            dim3(kThreads)};
  }

  __device__ int64_t count() const { return count_; }
  __device__ Chunk operator[](int64_t item) const {
    const int64_t s = item / per_block_, begin = (item - s * per_block_) * kElements;
    const int64_t end = begin + kElements;
    return {s, s * size_, begin, end < size_ ? end : size_};
  }

 private:
  static constexpr int64_t kElements = 32 * kThreads;

  int64_t size_;
  int64_t per_block_;
  int64_t count_;
};

// Which elements of a matrix (n, n) are on its diagonal, for a thread that visits every
// blockDim.x-th from `first` on.
class DiagonalWalk {
 public:
  __device__ DiagonalWalk(int64_t first, int64_t n)
      : period_(n + 1), step_(blockDim.x % period_), place_(first % period_) {}

  // For one element after the other.
  __device__ bool next() {
    const bool on_diagonal = place_ == 0;
    place_ += step_;
    if (place_ >= period_) place_ -= period_;
    return on_diagonal;
  }

 private:
  int64_t period_;
  int64_t step_;
  int64_t place_;
};

// For work with a warp per item, by all lanes: this warp's first item, the step to its next, and
// the launch.
inline LaunchShape for_warps(int64_t items) {
  return for_elements(items * kWarp);
}
__device__ inline int64_t first_of_warp() {
  return first_element() / kWarp;
}
__device__ inline int64_t warp_step() {
  return element_step() / kWarp;
}
__device__ inline int lane_of_warp() {
  return static_cast<int>(threadIdx.x) % kWarp;
}

}  // namespace dashlm::cuda
