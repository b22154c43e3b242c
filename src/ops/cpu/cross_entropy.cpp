#include "ops/cross_entropy.h"

#include <cmath>
#include <type_traits>

#include "device/cpu/parallel.h"
#include "ops/cpu/kernels.h"
#include "ops/cpu/vector_math.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kRows = 4;

struct Softmax {
  float max, sum;
};

// Where x may be written, it becomes exp(x - max). One function, so that both uses add in one
// order.
template <class Float>
Softmax softmax_of(Float* x, int64_t width) {
  float max = x[0];
#pragma omp simd reduction(max : max)
  for (int64_t j = 0; j < width; ++j) max = x[j] > max ? x[j] : max;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < width; ++j) {
    const float e = exp_f32(x[j] - max);
    if constexpr (!std::is_const_v<Float>) x[j] = e;
    sum += e;
  }
  return {max, sum};
}

float loss_of(const Softmax& s, float target_logit) {
  // In this order: with logits in the thousands, log(sum) + max would lose the logarithm.
  return std::log(s.sum) + (s.max - target_logit);
}

}  // namespace

void cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, float scale) {
  const int64_t width = logits.dim(1);
  float *loss = losses.f32(), *x = logits.f32();
  const int32_t* target = targets.i32();
  parallel_ranges(targets.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = x + i * width;
      if (target[i] == kIgnoredTarget) {
        loss[i] = 0;
        std::fill_n(row, width, 0.0f);
        continue;
      }
      const float target_logit = row[target[i]];
      const Softmax s = softmax_of(row, width);
      loss[i] = loss_of(s, target_logit);
      const float factor = scale / s.sum;
      for (int64_t j = 0; j < width; ++j) row[j] *= factor;
      row[target[i]] -= scale;
    }
  });
}

void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  const int64_t width = logits.dim(1);
  float* loss = losses.f32();
  const float* x = logits.f32();
  const int32_t* target = targets.i32();
  parallel_ranges(targets.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* row = x + i * width;
      loss[i] =
          target[i] == kIgnoredTarget ? 0.0f : loss_of(softmax_of(row, width), row[target[i]]);
    }
  });
}

}  // namespace dashlm::cpu
