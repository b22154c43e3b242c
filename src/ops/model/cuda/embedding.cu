#include <algorithm>

#include "ops/core/cuda/load_store.cuh"
#include "ops/model/backends.h"

namespace dashlm::cuda {
namespace {

// A block per token.
template <class To, class From>
__global__ void copy_rows(To* out, const From* table, const int32_t* tokens, int64_t count,
                          int64_t width, bool aligned) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const From* from = table + tokens[i] * width;
    To* to = out + i * width;
    for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
      store_group(to + j, load_group(from + j, width - j, aligned), width - j, aligned);
    }
  }
}

// Sorts the positions (N) of the tokens by token, those of equal tokens in their order. At the
// place of a token's first position `run` (N) holds how many it has, elsewhere 0. A warp per
// position counts how many come before it: N² comparisons, which for the 32,768 tokens of a large
// micro-batch are 10⁹, well below a millisecond of a GPU's time and little beside anything else
// that is done with them; and neither atomics nor memory for all V.
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
template <class T>
__global__ void add_runs(float* d_table, const T* __restrict__ d_out,
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
    for (int64_t k = begin; k < end; ++k) sum += to_float(d_out[order[k] * width + j]);
    row[j] = sum;
  }
}

}  // namespace

void embedding(Context& context, const Tensor& out, const ConstTensor& table,
               const ConstTensor& tokens) {
  const int64_t count = tokens.dim(0), width = table.dim(1);
  with_types(out, table, [&]<class To, class From>(To, From) {
    To* to = out.as<To>();
    const From* from = table.as<From>();
    launch(context, copy_rows<To, From>, for_rows(count, width), to, from, tokens.i32(), count,
           width, groups_aligned(width, to, from));
  });
}

void embedding_backward(Context& context, const Tensor& d_table, const ConstTensor& d_out,
                        const ConstTensor& tokens) {
  const int64_t count = tokens.dim(0), width = d_table.dim(1);
  const ArenaScope scope(context.scratch);
  const Tensor order = context.scratch.take("sorted positions", {count}, DType::i64);
  const Tensor run = context.scratch.take("runs of tokens", {count}, DType::i64);
  launch(context, sort_positions, for_elements(count * kWarp), order.as<int64_t>(),
         run.as<int64_t>(), tokens.i32(), count);
  constexpr int64_t kMostSlices = 1024;
  const int64_t slices = std::min(divide_up(width, kThreads), kMostSlices);
  const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(slices));
  with_type(d_out, [&]<class T>(T) {
    launch(context, add_runs<T>, {grid, dim3(kThreads)}, d_table.f32(), d_out.as<T>(), tokens.i32(),
           order.as<int64_t>(), run.as<int64_t>(), width);
  });
}

}  // namespace dashlm::cuda
