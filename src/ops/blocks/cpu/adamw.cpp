#include <algorithm>
#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/blocks/backends.h"

namespace dashlm::cpu {
namespace {

// Factors that are the same for all elements of a block.
struct Factors {
  float lr;
  float decay;                     // of the weight
  float correction1, correction2;  // of the moments' bias
};

// A function of its own with plain pointers, which compilers vectorise.
void update_range(float* w, const float* g, float* m, float* v, int64_t count, const AdamwStep step,
                  const Factors factors) {
  for (int64_t i = 0; i < count; ++i) {
    const float gi = g[i] * step.gradient_scale;
    m[i] = step.beta1 * m[i] + (1.0f - step.beta1) * gi;
    v[i] = step.beta2 * v[i] + (1.0f - step.beta2) * gi * gi;
    const float denominator = std::sqrt(v[i] * factors.correction2) + step.eps;
    w[i] = factors.decay * w[i] - factors.lr * (m[i] * factors.correction1) / denominator;
  }
}

}  // namespace

// Rows of a block make one item, as many as are worth a thread's while.
void adamw(Context&, const AdamwTensors& t, const AdamwStep& step) {
  constexpr int64_t kGrain = 1 << 14;
  const int64_t rows = t.moment1.dim(1), cols = t.moment1.dim(2);
  const int64_t item_rows = std::clamp<int64_t>(kGrain / cols, 1, rows);
  const int64_t items = (rows + item_rows - 1) / item_rows;  // of a block
  const auto steps = static_cast<double>(step.step);
  const auto correction1 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta1, steps)));
  const auto correction2 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta2, steps)));
  parallel_for(t.moment1.dim(0) * items, [&](int64_t item) {
    const int64_t block = item / items, first = item % items * item_rows;
    const int64_t count = std::min(item_rows, rows - first);
    const BlockEntry& entry = entries_of(t.table)[block];
    const float lr = step.lr * t.lr_scale.f32()[block];
    const Factors factors{lr, 1.0f - lr * step.weight_decay, correction1, correction2};
    const auto update = [&](int64_t row, int64_t elements) {
      const int64_t at = entry.offset + row * entry.row_stride,
                    in_stack = (block * rows + row) * cols;
      update_range(t.weights.f32() + at, t.gradients.f32() + at, t.moment1.f32() + in_stack,
                   t.moment2.f32() + in_stack, elements, step, factors);
    };
    if (entry.row_stride == cols) return update(first, count * cols);
    for (int64_t row = first; row < first + count; ++row) update(row, cols);
  });
}

}  // namespace dashlm::cpu
