#include "ops/core/backends.h"
#include "ops/core/cuda/load_store.cuh"

namespace dashlm::cuda {
namespace {

// The sum of x, or of its squares, over each block's elements.
template <bool kSquares>
__global__ void sum_blocks(double* partial, const float* x, int64_t count, bool aligned) {
  double sum = 0;
  for (int64_t i = first_element() * kGroup; i < count; i += element_step() * kGroup) {
    const Group group = load_group(x + i, count - i, aligned);
    each([&](int k) {
      const double value = group.at[k];
      sum += kSquares ? value * value : value;
    });
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// total += what the blocks have, by one block.
__global__ void add_partial(double* total, const double* partial, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total += sum;
}

template <bool kSquares>
void add_to(Context& context, const Tensor& total, const ConstTensor& x) {
  const int64_t count = x.elements();
  const LaunchShape shape = for_elements(divide_up(count, kGroup));
  const ArenaScope scope(context.scratch);
  const Tensor partial = context.scratch.take("sums of blocks", {shape.grid.x}, DType::f64);
  launch(context, sum_blocks<kSquares>, shape, partial.as<double>(), x.f32(), count,
         groups_aligned(kGroup, x.f32()));
  launch(context, add_partial, {dim3(1), dim3(kThreads)}, total.as<double>(), partial.as<double>(),
         partial.elements());
}

}  // namespace

void add_sum(Context& context, const Tensor& total, const ConstTensor& x) {
  add_to<false>(context, total, x);
}

void add_sum_of_squares(Context& context, const Tensor& total, const ConstTensor& x) {
  add_to<true>(context, total, x);
}

}  // namespace dashlm::cuda
