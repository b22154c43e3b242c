#include "ops/adamw.h"

#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/cpu/kernels.h"

namespace dashlm::cpu {

void adamw(const Tensor& weight, const Tensor& gradient, const Tensor& moment1,
           const Tensor& moment2, const AdamwStep& step) {
  constexpr int64_t kGrain = 1 << 14;
  float *w = weight.f32(), *m = moment1.f32(), *v = moment2.f32();
  const float* g = gradient.f32();
  const auto t = static_cast<double>(step.step);
  const auto correction1 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta1, t)));
  const auto correction2 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta2, t)));
  const float keep = 1.0f - step.lr * step.weight_decay;
  parallel_ranges(weight.elements(), kGrain, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float gi = g[i] * step.gradient_scale;
      m[i] = step.beta1 * m[i] + (1.0f - step.beta1) * gi;
      v[i] = step.beta2 * v[i] + (1.0f - step.beta2) * gi * gi;
      const float denominator = std::sqrt(v[i] * correction2) + step.eps;
      w[i] = keep * w[i] - step.lr * (m[i] * correction1) / denominator;
    }
  });
}

}  // namespace dashlm::cpu
