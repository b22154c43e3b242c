// How kernels go over stacks of row-major blocks, whose rows may lie apart in memory.
#pragma once

#include <algorithm>

#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {

// For kernels over stacks: blocks of the stack lie along the grid's y, the elements of one along x.
// The x side depends on a block's size alone, and with it the order of sums.
inline LaunchShape for_stack(int64_t blocks, int64_t elements) {
  constexpr int64_t kPerThread = 8, kMostAlongY = 65535;
  const unsigned threads = threads_for(elements);
  return {dim3(static_cast<unsigned>(divide_up(elements, threads * kPerThread)),
               static_cast<unsigned>(std::min(blocks, kMostAlongY))),
          dim3(threads)};
}

// This thread's elements of one row-major block of a stack, of at least one column. Row and column
// advance by those of the step, so that only the start divides.
class Walk {
 public:
  __device__ explicit Walk(int64_t cols)
      : element(first_element()),
        row(element / cols),
        col(element % cols),
        cols_(cols),
        step_rows_(element_step() / cols),
        step_cols_(element_step() % cols) {}

  __device__ void next() {
    element += element_step();
    row += step_rows_;
    col += step_cols_;
    if (col < cols_) return;
    col -= cols_;
    ++row;
  }

  int64_t element, row, col;

 private:
  int64_t cols_, step_rows_, step_cols_;
};

}  // namespace dashlm::cuda
