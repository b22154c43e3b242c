#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/model/backends.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kRows = 16;
constexpr int64_t kColumns = 64;

// Normalises one row; returns 1/rms.
float normalize_row(float* out, const float* x, const float* weight, int64_t width, float eps) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < width; ++j) squares += x[j] * x[j];
  const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
  for (int64_t j = 0; j < width; ++j) out[j] = x[j] * rstd * weight[j];
  return rstd;
}

// With n = x·rstd and g = d_out·weight: d_x = rstd · (g - n · mean(g·n)).
void normalize_row_backward(float* d_x, const float* d_out, const float* x, const float* weight,
                            float rstd, int64_t width) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t j = 0; j < width; ++j) dot += d_out[j] * weight[j] * x[j];
  const float mean = dot * rstd * rstd / static_cast<float>(width);
  for (int64_t j = 0; j < width; ++j) d_x[j] += rstd * (d_out[j] * weight[j] - x[j] * mean);
}

void normalize(const Tensor& out, const Tensor& rstd, const ConstTensor& x,
               const ConstTensor& weight, float eps) {
  const int64_t width = x.dim(1);
  float *o = out.f32(), *r = rstd.f32();
  const float *in = x.f32(), *w = weight.f32();
  parallel_ranges(x.dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      r[i] = normalize_row(o + i * width, in + i * width, w, width, eps);
    }
  });
}

void normalize_backward(const Tensor& d_x, const Tensor& d_weight, const ConstTensor& d_out,
                        const ConstTensor& x, const ConstTensor& rstd, const ConstTensor& weight) {
  const int64_t rows = x.dim(0), width = x.dim(1);
  float *dx = d_x.f32(), *dw = d_weight.f32();
  const float *dy = d_out.f32(), *in = x.f32(), *r = rstd.f32(), *w = weight.f32();
  parallel_ranges(width, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = i * width;
      for (int64_t j = begin; j < end; ++j) dw[j] += dy[at + j] * in[at + j] * r[i];
    }
  });
  parallel_ranges(rows, kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * width;
      normalize_row_backward(dx + at, dy + at, in + at, w, r[i], width);
    }
  });
}

}  // namespace

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const ConstTensor& x,
              const ConstTensor& weight, float eps) {
  run_in_f32(context, normalize, writes(out), rstd, reads(x), reads(weight), eps);
}

void rms_norm_backward(Context& context, const RmsNormBackward& t) {
  run_in_f32(context, normalize_backward, updates(t.d_x), t.d_weight, reads(t.d_out), reads(t.x),
             t.rstd, reads(t.weight));
  if (t.rounded) context.compute(convert, context, t.rounded, t.d_x);
}

}  // namespace dashlm::cpu
