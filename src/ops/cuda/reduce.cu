#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// The sum of x, or of its squares, over each block's elements.
template <bool kSquares>
__global__ void sum_blocks(double* partial, const float* x, int64_t count) {
  double total = 0;
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const double value = x[i];
    total += kSquares ? value * value : value;
  }
  total = block_sum(total);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// The blocks' sums are added up on the host, which waits for the result anyhow.
template <bool kSquares>
double sum_of(Context& context, const Tensor& x) {
  const LaunchShape shape = for_elements(x.elements());
  const ArenaScope scope(context.scratch);
  const Tensor partial = context.scratch.take("sums of blocks", {shape.grid.x}, DType::f64);
  if (context.planning()) return 0.0;
  launch(stream_of(context), sum_blocks<kSquares>, shape, partial.as<double>(), x.f32(),
         x.elements());
  std::vector<double> host(shape.grid.x);
  context.device.download(host.data(), partial.data, partial.bytes());
  return std::accumulate(host.begin(), host.end(), 0.0);
}

}  // namespace

double sum(Context& context, const Tensor& x) {
  return sum_of<false>(context, x);
}

double sum_of_squares(Context& context, const Tensor& x) {
  return sum_of<true>(context, x);
}

}  // namespace dashlm::cuda
