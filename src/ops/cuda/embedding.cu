#include <algorithm>

#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// A block per token.
__global__ void copy_rows(float* out, const float* table, const int32_t* tokens, int64_t count,
                          int64_t width) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const float* from = table + tokens[i] * width;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) out[i * width + j] = from[j];
  }
}

// Sorts the positions (N) of the tokens by token, those of equal tokens in their order. At the
// place of a token's first position `run` (N) holds how many it has, elsewhere 0. A warp per
// position counts how many come before it: N² comparisons, which for the tokens of a batch take
// little beside anything else that is done with them, and neither atomics nor memory for all V.
__global__ void sort_positions(int64_t* order, int64_t* run, const int32_t* tokens, int64_t count) {
  const auto add = [](int a, int b) { return a + b; };
  const int64_t lane = threadIdx.x % kWarp;
  for (int64_t i = first_element() / kWarp; i < count; i += element_step() / kWarp) {
    const int32_t token = tokens[i];
    int smaller = 0, earlier = 0, equal = 0;
    for (int64_t k = lane; k < count; k += kWarp) {
      const int32_t other = tokens[k];
      smaller += other < token ? 1 : 0;
      equal += other == token ? 1 : 0;
      earlier += other == token && k < i ? 1 : 0;
    }
    smaller = warp_reduce(smaller, add);
    equal = warp_reduce(equal, add);
    earlier = warp_reduce(earlier, add);
    if (lane == 0) {
      order[smaller + earlier] = i;
      run[smaller + earlier] = earlier == 0 ? equal : 0;
    }
  }
}

// A row of blocks per place among the sorted positions, of which those at the start of a run add
// it up; a thread per column.
__global__ void add_runs(float* d_table, const float* __restrict__ d_out,
                         const int32_t* __restrict__ tokens, const int64_t* __restrict__ order,
                         const int64_t* __restrict__ run, int64_t width) {
  const int64_t begin = blockIdx.x, end = begin + run[begin];
  if (begin == end) return;
  float* row = d_table + tokens[order[begin]] * width;
  const int64_t step = static_cast<int64_t>(gridDim.y) * blockDim.x;
  for (int64_t j = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; j < width;
       j += step) {
    float sum = row[j];
#pragma unroll 8
    for (int64_t k = begin; k < end; ++k) sum += d_out[order[k] * width + j];
    row[j] = sum;
  }
}

}  // namespace

void embedding(Context& context, const Tensor& out, const Tensor& table, const Tensor& tokens) {
  if (context.planning()) return;
  const int64_t count = tokens.dim(0);
  launch(stream_of(context), copy_rows, for_elements(count * kThreads), out.f32(), table.f32(),
         tokens.i32(), count, table.dim(1));
}

void embedding_backward(Context& context, const Tensor& d_table, const Tensor& d_out,
                        const Tensor& tokens) {
  const int64_t count = tokens.dim(0), width = d_table.dim(1);
  const ArenaScope scope(context.scratch);
  const Tensor order = context.scratch.take("sorted positions", {count}, DType::i64);
  const Tensor run = context.scratch.take("runs of tokens", {count}, DType::i64);
  if (context.planning()) return;
  launch(stream_of(context), sort_positions, for_elements(count * kWarp), order.as<int64_t>(),
         run.as<int64_t>(), tokens.i32(), count);
  constexpr int64_t kMostSlices = 1024;
  const int64_t slices = std::min(divide_up(width, kThreads), kMostSlices);
  const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(slices));
  launch(stream_of(context), add_runs, {grid, dim3(kThreads)}, d_table.f32(), d_out.f32(),
         tokens.i32(), order.as<int64_t>(), run.as<int64_t>(), width);
}

}  // namespace dashlm::cuda
