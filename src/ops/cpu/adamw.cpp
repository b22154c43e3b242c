#include "ops/adamw.h"

#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/cpu/kernels.h"

namespace dashlm::cpu {
namespace {

// Factors that are the same for all elements.
struct Factors {
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
    w[i] = factors.decay * w[i] - step.lr * (m[i] * factors.correction1) / denominator;
  }
}

}  // namespace

void adamw(const Tensor& weight, const Tensor& gradient, const Tensor& moment1,
           const Tensor& moment2, const AdamwStep& step) {
  constexpr int64_t kGrain = 1 << 14;
  float *w = weight.f32(), *m = moment1.f32(), *v = moment2.f32();
  const float* g = gradient.f32();
  const auto t = static_cast<double>(step.step);
  const Factors factors{.decay = 1.0f - step.lr * step.weight_decay,
                        .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta1, t))),
                        .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta2, t)))};
  parallel_ranges(weight.elements(), kGrain, [&](int64_t begin, int64_t end) {
    update_range(w + begin, g + begin, m + begin, v + begin, end - begin, step, factors);
  });
}

}  // namespace dashlm::cpu
