// Kernels for elements of type R in the residual stream and T elsewhere.
#include <algorithm>

#include "ops/core/cuda/load_store.cuh"
#include "ops/model/backends.h"

namespace dashlm::cuda {
namespace {

// A block per row; the second time it reads the row from cache.
template <class R, class T>
__global__ void normalize_rows(T* out, float* rstd, const R* x, const T* weight, int64_t rows,
                               int64_t width, float eps, bool aligned) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const R* in = x + i * width;
    float squares = 0;
    for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
      const Group value = load_group(in + j, width - j, aligned);
      each([&](int k) { squares += value.at[k] * value.at[k]; });
    }
    squares = block_sum(squares);
    const float r = 1.0f / sqrtf(squares / static_cast<float>(width) + eps);
    if (threadIdx.x == 0) rstd[i] = r;
    for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
      const Group w = load_group(weight + j, width - j, aligned);
      Group value = load_group(in + j, width - j, aligned);
      each([&](int k) { value.at[k] = value.at[k] * r * w.at[k]; });
      store_group(out + i * width + j, value, width - j, aligned);
    }
  }
}

// What the backward kernel works on.
template <class R, class T>
struct Backward {
  R* __restrict__ d_x;
  __nv_bfloat16* __restrict__ rounded;  // or null
  float* __restrict__ d_weights;        // (blocks, d)
  const T* __restrict__ d_out;
  const R* __restrict__ x;
  const float* __restrict__ rstd;
  const T* __restrict__ weight;
  int64_t rows, width;
  bool aligned;
};

// With n = x·rstd and g = d_out·weight: d_x += rstd · (g - n · mean(g·n)). Each block takes every
// gridDim.x-th row and also sums up d_out·n over its rows, in its row of d_weights. That stays in
// cache, so that memory is passed over once.
template <class R, class T>
__global__ void normalize_rows_backward(const Backward<R, T> b) {
  float* d_weight = b.d_weights + blockIdx.x * b.width;
  for (int64_t i = blockIdx.x; i < b.rows; i += gridDim.x) {
    const R* in = b.x + i * b.width;
    const T* d_out = b.d_out + i * b.width;
    float dot = 0;
    for (int64_t j = first_in_row(); j < b.width; j += step_in_row()) {
      const Group x = load_group(in + j, b.width - j, b.aligned);
      const Group dy = load_group(d_out + j, b.width - j, b.aligned);
      const Group w = load_group(b.weight + j, b.width - j, b.aligned);
      each([&](int k) { dot += dy.at[k] * w.at[k] * x.at[k]; });
    }
    dot = block_sum(dot);
    const float r = b.rstd[i], mean = dot * r * r / static_cast<float>(b.width);
    const bool first = i == blockIdx.x;
    for (int64_t j = first_in_row(); j < b.width; j += step_in_row()) {
      const int64_t left = b.width - j;
      const Group x = load_group(in + j, left, b.aligned);
      const Group dy = load_group(d_out + j, left, b.aligned);
      const Group w = load_group(b.weight + j, left, b.aligned);
      Group d_x = load_group(b.d_x + i * b.width + j, left, b.aligned);
      Group d_w = first ? Group{} : load_group(d_weight + j, left, b.aligned);
      each([&](int k) {
        d_x.at[k] += r * (dy.at[k] * w.at[k] - x.at[k] * mean);
        d_w.at[k] += dy.at[k] * x.at[k] * r;
      });
      store_group(b.d_x + i * b.width + j, d_x, left, b.aligned);
      store_group(d_weight + j, d_w, left, b.aligned);
      if (b.rounded) store_group(b.rounded + i * b.width + j, d_x, left, b.aligned);
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

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const ConstTensor& x,
              const ConstTensor& weight, float eps) {
  const int64_t rows = x.dim(0), width = x.dim(1);
  with_types(x, out, [&]<class R, class T>(R, T) {
    const R* in = x.as<R>();
    const T* w = weight.as<T>();
    T* to = out.as<T>();
    launch(context, normalize_rows<R, T>, for_rows(rows, width), to, rstd.f32(), in, w, rows, width,
           eps, groups_aligned(width, to, in, w));
  });
}

void rms_norm_backward(Context& context, const RmsNormBackward& t) {
  constexpr int64_t kMostBlocks = 512;  // to fill a GPU, and few rows to add up at the end
  const int64_t rows = t.x.dim(0), width = t.x.dim(1);
  const LaunchShape shape = for_rows(rows, width, kMostBlocks);
  const int64_t blocks = shape.grid.x;
  const ArenaScope scope(context.scratch);
  const Tensor d_weights = context.scratch.take("d_weight of blocks", {blocks, width});
  with_types(t.x, t.d_out, [&]<class R, class T>(R, T) {
    Backward<R, T> b = {.d_x = t.d_x.as<R>(),
                        .rounded = t.rounded.as<__nv_bfloat16>(),
                        .d_weights = d_weights.f32(),
                        .d_out = t.d_out.as<T>(),
                        .x = t.x.as<R>(),
                        .rstd = t.rstd.f32(),
                        .weight = t.weight.as<T>(),
                        .rows = rows,
                        .width = width,
                        .aligned = false};
    b.aligned = groups_aligned(width, b.d_x, b.rounded, b.d_weights, b.d_out, b.x, b.weight);
    launch(context, normalize_rows_backward<R, T>, shape, b);
  });
  launch(context, add_columns,
         {dim3(static_cast<unsigned>(divide_up(width, kWarp))), dim3(kThreads)}, t.d_weight.f32(),
         d_weights.f32(), blocks, width);
}

}  // namespace dashlm::cuda
