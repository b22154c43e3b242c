#include "device/cpu/parallel.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/core/cpu/vector_math.h"
#include "ops/model/backends.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kRows = 8;

void gate(const Tensor& out, const ConstTensor& gate_up) {
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
void gate_backward(const Tensor& d_gate_up, const ConstTensor& d_out, const ConstTensor& gate_up) {
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

}  // namespace

void swiglu(Context& context, const Tensor& out, const ConstTensor& gate_up) {
  run_in_f32(context, gate, writes(out), reads(gate_up));
}

void swiglu_backward(Context& context, const Tensor& d_gate_up, const ConstTensor& d_out,
                     const ConstTensor& gate_up) {
  run_in_f32(context, gate_backward, writes(d_gate_up), reads(d_out), reads(gate_up));
}

}  // namespace dashlm::cpu
