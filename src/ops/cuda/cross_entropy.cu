#include "ops/cross_entropy.h"

#include <algorithm>
#include <cfloat>

#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// Of a block: as many as possible, so that few rows are worked on at a time and the second reading
// of a row finds it in the GPU's cache.
constexpr int kRowThreads = 1024;

struct Softmax {
  float max, sum;
};

// The maximum and the sum of exp(x - max), in one pass: a thread's sum is rescaled whenever its
// maximum grows, and in the end to the block's maximum. A NaN enters the sums. Maxima start at a
// finite value, so that logits of -inf count as zeros.
__device__ Softmax softmax_of(const float* x, int64_t width) {
  float max = -FLT_MAX, sum = 0;
  for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
    const float value = x[j], ratio = expf(-fabsf(value - max));
    sum = value > max ? sum * ratio + 1.0f : sum + ratio;
    max = value > max ? value : max;
  }
  const float largest = block_reduce(max, -FLT_MAX, [](float a, float b) { return fmaxf(a, b); });
  return {largest, block_sum(sum * expf(max - largest))};
}

// A block per row. One kernel for both operations, so that the losses are the same bits.
__global__ void cross_entropy_rows(float* losses, float* logits, const int32_t* targets,
                                   int64_t rows, int64_t width, float scale, bool gradient) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    float* row = logits + i * width;
    const int64_t target = targets[i];
    if (target == kIgnoredTarget) {
      if (threadIdx.x == 0) losses[i] = 0;
      for (int64_t j = threadIdx.x; gradient && j < width; j += blockDim.x) row[j] = 0;
      continue;
    }
    const float target_logit = row[target];  // before the barriers in softmax_of
    const Softmax s = softmax_of(row, width);
    // In this order: with logits in the thousands, log(sum) + max would lose the logarithm.
    if (threadIdx.x == 0) losses[i] = logf(s.sum) + (s.max - target_logit);
    const float factor = scale / s.sum;
    for (int64_t j = threadIdx.x; gradient && j < width; j += blockDim.x) {
      const float scaled = expf(row[j] - s.max) * factor;
      row[j] = j == target ? scaled - scale : scaled;
    }
  }
}

void launch_rows(Context& context, const Tensor& losses, const Tensor& logits,
                 const Tensor& targets, float scale, bool gradient) {
  if (context.planning()) return;
  constexpr int64_t kMostBlocks = 1 << 16;
  const int64_t rows = targets.dim(0);
  const dim3 grid(static_cast<unsigned>(std::min(rows, kMostBlocks)));
  launch(stream_of(context), cross_entropy_rows, {grid, dim3(kRowThreads)}, losses.f32(),
         logits.f32(), targets.i32(), rows, logits.dim(1), scale, gradient);
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& logits,
                   const Tensor& targets, float scale) {
  launch_rows(context, losses, logits, targets, scale, true);
}

void cross_entropy_loss(Context& context, const Tensor& losses, const Tensor& logits,
                        const Tensor& targets) {
  launch_rows(context, losses, logits, targets, 0.0f, false);
}

}  // namespace dashlm::cuda
