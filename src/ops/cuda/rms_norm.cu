#include <algorithm>

#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// A block per row; the second time it reads the row from cache.
__global__ void normalize_rows(float* out, float* rstd, const float* x, const float* weight,
                               int64_t rows, int64_t width, float eps) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const float* in = x + i * width;
    float squares = 0;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) squares += in[j] * in[j];
    squares = block_sum(squares);
    const float r = 1.0f / sqrtf(squares / static_cast<float>(width) + eps);
    if (threadIdx.x == 0) rstd[i] = r;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      out[i * width + j] = in[j] * r * weight[j];
    }
  }
}

// With n = x·rstd and g = d_out·weight: d_x += rstd · (g - n · mean(g·n)). Each block takes every
// gridDim.x-th row and also sums up d_out·n over its rows, in its row of d_weights (blocks, d).
// That stays in cache, so that memory is passed over once.
__global__ void normalize_rows_backward(float* d_x, float* __restrict__ d_weights,
                                        const float* __restrict__ d_out,
                                        const float* __restrict__ x, const float* __restrict__ rstd,
                                        const float* __restrict__ weight, int64_t rows,
                                        int64_t width) {
  float* d_weight = d_weights + blockIdx.x * width;
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const float *in = x + i * width, *dy = d_out + i * width;
    float dot = 0;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) dot += dy[j] * weight[j] * in[j];
    dot = block_sum(dot);
    const float r = rstd[i], mean = dot * r * r / static_cast<float>(width);
    const bool first = i == blockIdx.x;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      d_x[i * width + j] += r * (dy[j] * weight[j] - in[j] * mean);
      d_weight[j] = (first ? 0.0f : d_weight[j]) + dy[j] * in[j] * r;
    }
  }
}

// d_weight (d) += the columns' sums of d_weights (count, d). A block takes 32 columns; each of its
// warps adds up every eighth row, the first one what the warps have.
constexpr int kWarps = kThreads / kWarp;
__global__ void add_columns(float* d_weight, const float* d_weights, int64_t count, int64_t width) {
  __shared__ float sums[kWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  float sum = 0;
  if (column < width) {
    for (int64_t i = warp; i < count; i += kWarps) sum += d_weights[i * width + column];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= width) return;
  for (int w = 1; w < kWarps; ++w) sum += sums[w][lane];
  d_weight[column] += sum;
}

}  // namespace

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps) {
  if (context.planning()) return;
  const int64_t rows = x.dim(0);
  launch(stream_of(context), normalize_rows, for_elements(rows * kThreads), out.f32(), rstd.f32(),
         x.f32(), weight.f32(), rows, x.dim(1), eps);
}

void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight) {
  constexpr int64_t kMostBlocks = 512;  // to fill a GPU, and few rows to add up at the end
  const int64_t rows = x.dim(0), width = x.dim(1), blocks = std::min(rows, kMostBlocks);
  const ArenaScope scope(context.scratch);
  const Tensor d_weights = context.scratch.take("d_weight of blocks", {blocks, width});
  if (context.planning()) return;
  launch(stream_of(context), normalize_rows_backward,
         {dim3(static_cast<unsigned>(blocks)), dim3(kThreads)}, d_x.f32(), d_weights.f32(),
         d_out.f32(), x.f32(), rstd.f32(), weight.f32(), rows, width);
  launch(stream_of(context), add_columns,
         {dim3(static_cast<unsigned>(divide_up(width, kWarp))), dim3(kThreads)}, d_weight.f32(),
         d_weights.f32(), blocks, width);
}

}  // namespace dashlm::cuda
