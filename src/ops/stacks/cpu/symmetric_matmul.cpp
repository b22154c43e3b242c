#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/rounding.h"
#include "ops/stacks/cpu/linalg_kernels.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

void round_operand(const Tensor& out, const Tensor& operand, MatmulPrecision precision,
                   const Tensor* state) {
  const auto round_all = [&](auto round) {
    for_each_chunk(operand, [&](int64_t s, int64_t begin, int64_t end) {
      if (state && !(state->i32()[s] & kActive)) return;
      const float* in = operand.f32();
      float* to = out.f32();
      for (int64_t i = begin; i < end; ++i) to[i] = round(in[i]);
    });
  };
  switch (precision) {
    case MatmulPrecision::fp32:
      break;
    case MatmulPrecision::tf32:
      return round_all([](float x) { return round_to_tf32(x); });
    case MatmulPrecision::fp16:
      return round_all([](float x) { return round_to_fp16(x); });
    case MatmulPrecision::bf16:
      return round_all([](float x) { return round_to_bf16(x); });
  }
}

// Their largest magnitude rounded down to a power of two; not below the least normal number, so
// that it may divide. Infinite where a weight is not finite, which makes the root fail.
float weight_unit(const float* weights, int64_t n) {
  constexpr uint32_t kExponent = 0x7F800000u, kLeast = 0x00800000u;
  uint32_t unit = kLeast;
  for (int64_t i = 0; i < n; ++i) {
    unit = std::max(unit, std::bit_cast<uint32_t>(weights[i]) & kExponent);
  }
  return std::bit_cast<float>(unit);
}

}  // namespace

Tensor rounded_operand(Context& context, const char* name, const Tensor& operand,
                       MatmulPrecision precision, const Tensor* state) {
  if (precision == MatmulPrecision::fp32) return operand;
  const Tensor out = context.scratch.take(name, operand.shape);
  if (!context.planning()) round_operand(out, operand, precision, state);
  return out;
}

void symmetric_matmul(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& inactive,
                      const SymmetricMatmul& options) {
  const int64_t n = c.dim(1), size = n * n;
  const int32_t* state = options.state ? options.state->i32() : nullptr;
  const bool copies = options.inactive != SymmetricMatmul::Inactive::keep;
  for_each_matrix(c.dim(0), n * size / 2, [&](int64_t s) {
    float* out = c.f32() + s * size;
    if (state && !(state[s] & kActive)) {
      if (copies) std::copy_n(inactive.f32() + s * size, size, out);
      return;
    }
    // A is its own transpose, which tiles read without a copy.
    symmetric_gemm(n, n, options.alpha, {a.f32() + s * size, n, true}, {b.f32() + s * size, n},
                   options.beta, {out, n});
    if (options.diagonal == 0.0f) return;
    for (int64_t i = 0; i < n; ++i) out[i * (n + 1)] += options.diagonal;
  });
}

void from_spectrum(const Tensor& c, const Tensor& weights, const Eigenvectors& vectors,
                   const Tensor& state, const Tensor& weighted, MatmulPrecision precision) {
  const int64_t n = c.dim(1), size = n * n;
  const auto active = [&](int64_t s) { return (state.i32()[s] & kActive) != 0; };
  const auto weights_of = [&](int64_t s) { return weights.f32() + s * n; };
  const auto unit_of = [&](int64_t s) {
    return precision == MatmulPrecision::fp32 ? 1.0f : weight_unit(weights_of(s), n);
  };
  for_each_chunk(vectors.exact, [&](int64_t s, int64_t begin, int64_t end) {
    if (!active(s)) return;
    const float *v = vectors.exact.f32(), *w = weights_of(s), unit = unit_of(s);
    float* to = weighted.f32();
    for (int64_t i = begin; i < end; ++i) {
      to[i] = round_to(precision, v[i] * (w[(i - s * size) / n] / unit));
    }
  });
  for_each_matrix(c.dim(0), n * size / 2, [&](int64_t s) {
    if (!active(s)) return;
    symmetric_gemm(n, n, unit_of(s), {vectors.rounded.f32() + s * size, n, true},
                   {weighted.f32() + s * size, n}, 0.0f, {c.f32() + s * size, n});
  });
}

}  // namespace dashlm::cpu
