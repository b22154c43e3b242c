#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/core/cpu/vector_math.h"
#include "ops/model/backends.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kRows = 4;

struct Softmax {
  float max, sum;
};

// Also out = exp(x - max), which may be x itself, unless `out` is null. The sum is taken a chunk at
// a time, in the same order either way.
Softmax softmax_of(float* out, const float* x, int64_t width) {
  constexpr int64_t kChunk = 1024;
  float chunk[kChunk];
  const float max = max_of(x, width);
  float sum = 0;
  for (int64_t begin = 0; begin < width; begin += kChunk) {
    sum += exp_and_sum(out ? out + begin : chunk, x + begin, max, std::min(kChunk, width - begin));
  }
  return {max, sum};
}

float loss_of(const Softmax& s, float target_logit) {
  // In this order: with logits in the thousands, log(sum) + max would lose the logarithm.
  return std::log(s.sum) + (s.max - target_logit);
}

void losses_and_gradient(const Tensor& losses, const Tensor& gradient, const ConstTensor& logits,
                         const ConstTensor& targets, float scale) {
  const int64_t width = logits.dim(1);
  float *loss = losses.f32(), *d = gradient.f32();
  const float* x = logits.f32();
  const int32_t* target = targets.i32();
  parallel_ranges(targets.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = d + i * width;
      if (target[i] == kIgnoredTarget) {
        loss[i] = 0;
        std::fill_n(row, width, 0.0f);
        continue;
      }
      const float target_logit = x[i * width + target[i]];
      const Softmax s = softmax_of(row, x + i * width, width);
      loss[i] = loss_of(s, target_logit);
      const float factor = scale / s.sum;
      for (int64_t j = 0; j < width; ++j) row[j] *= factor;
      row[target[i]] -= scale;
    }
  });
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const ConstTensor& logits, const ConstTensor& targets, float scale) {
  run_in_f32(context, losses_and_gradient, losses, writes(gradient), logits, targets, scale);
}

void cross_entropy_loss(Context&, const Tensor& losses, const ConstTensor& logits,
                        const ConstTensor& targets) {
  const int64_t width = logits.dim(1);
  float* loss = losses.f32();
  const float* x = logits.f32();
  const int32_t* target = targets.i32();
  parallel_ranges(targets.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* row = x + i * width;
      loss[i] = target[i] == kIgnoredTarget
                    ? 0.0f
                    : loss_of(softmax_of(nullptr, row, width), row[target[i]]);
    }
  });
}

}  // namespace dashlm::cpu
