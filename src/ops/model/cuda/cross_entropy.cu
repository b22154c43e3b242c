#include <algorithm>
#include <cfloat>

#include "ops/core/cuda/load_store.cuh"
#include "ops/model/backends.h"

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
// finite value, so that logits of -inf count as zeros, as do those past the end of the row.
__device__ Softmax softmax_of(const float* x, int64_t width, bool aligned) {
  float max = -FLT_MAX, sum = 0;
  for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
    const Group value = load_group(x + j, width - j, aligned, -INFINITY);
    float larger = max;
    each([&](int k) { larger = fmaxf(larger, value.at[k]); });
    sum *= expf(max - larger);
    each([&](int k) { sum += expf(value.at[k] - larger); });
    max = larger;
  }
  const float largest = block_reduce(max, -FLT_MAX, [](float a, float b) { return fmaxf(a, b); });
  return {largest, block_sum(sum * expf(max - largest))};
}

// A block per row. One kernel for both operations, so that the losses are the same bits; `gradient`
// is null where only they are wanted, and may be the logits, as a thread overwrites what it read.
template <class T>
__global__ void cross_entropy_rows(float* losses, T* gradient, const float* logits,
                                   const int32_t* targets, int64_t rows, int64_t width, float scale,
                                   bool aligned) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const float* row = logits + i * width;
    T* out = gradient ? gradient + i * width : nullptr;
    const int64_t target = targets[i];
    if (target == kIgnoredTarget) {
      if (threadIdx.x == 0) losses[i] = 0;
      for (int64_t j = first_in_row(); out && j < width; j += step_in_row()) {
        store_group(out + j, Group{}, width - j, aligned);
      }
      continue;
    }
    const float target_logit = row[target];  // before the barriers in softmax_of
    const Softmax s = softmax_of(row, width, aligned);
    // In this order: with logits in the thousands, log(sum) + max would lose the logarithm.
    if (threadIdx.x == 0) losses[i] = logf(s.sum) + (s.max - target_logit);
    const float factor = scale / s.sum;
    for (int64_t j = first_in_row(); out && j < width; j += step_in_row()) {
      Group value = load_group(row + j, width - j, aligned);
      each([&](int k) {
        const float scaled = expf(value.at[k] - s.max) * factor;
        value.at[k] = j + k == target ? scaled - scale : scaled;
      });
      store_group(out + j, value, width - j, aligned);
    }
  }
}

template <class T>
void launch_rows(Context& context, const Tensor& losses, T* gradient, const ConstTensor& logits,
                 const ConstTensor& targets, float scale) {
  constexpr int64_t kMostBlocks = 1 << 16;
  const int64_t rows = targets.dim(0), width = logits.dim(1);
  const dim3 grid(static_cast<unsigned>(std::min(rows, kMostBlocks)));
  launch(context, cross_entropy_rows<T>, {grid, dim3(kRowThreads)}, losses.f32(), gradient,
         logits.f32(), targets.i32(), rows, width, scale,
         groups_aligned(width, logits.f32(), gradient));
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const ConstTensor& logits, const ConstTensor& targets, float scale) {
  with_type(gradient, [&]<class T>(T) {
    launch_rows(context, losses, gradient.as<T>(), logits, targets, scale);
  });
}

void cross_entropy_loss(Context& context, const Tensor& losses, const ConstTensor& logits,
                        const ConstTensor& targets) {
  launch_rows<float>(context, losses, nullptr, logits, targets, 0.0f);
}

}  // namespace dashlm::cuda
