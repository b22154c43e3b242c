#include "ops/model/swiglu.h"

#include "device/cpu/parallel.h"
#include "ops/core/cpu/kernels.h"
#include "ops/core/cpu/vector_math.h"

namespace dashlm::cpu {
namespace {
constexpr int64_t kRows = 8;
}

void swiglu(const Tensor& out, const Tensor& gate_up) {
  const int64_t width = out.dim(1);
  float* to = out.f32();
  const float* from = gate_up.f32();
  parallel_ranges(out.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *gate = from + 2 * i * width, *up = gate + width;
      float* o = to + i * width;
      for (int64_t j = 0; j < width; ++j) o[j] = gate[j] / (1.0f + exp_f32(-gate[j])) * up[j];
    }
  });
}

// silu'(x) = s · (1 + x · (1 - s)) with s = 1 / (1 + exp(-x)).
void swiglu_backward(const Tensor& d_gate_up, const Tensor& d_out, const Tensor& gate_up) {
  const int64_t width = d_out.dim(1);
  float* d_both = d_gate_up.f32();
  const float *dy = d_out.f32(), *both = gate_up.f32();
  parallel_ranges(d_out.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *gate = both + 2 * i * width, *up = gate + width, *d = dy + i * width;
      float *d_gate = d_both + 2 * i * width, *d_up = d_gate + width;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) {
        const float x = gate[j], y = up[j];
        const float s = 1.0f / (1.0f + exp_f32(-x));
        d_gate[j] = d[j] * y * s * (1.0f + x * (1.0f - s));
        d_up[j] = d[j] * x * s;
      }
    }
  });
}

}  // namespace dashlm::cpu
