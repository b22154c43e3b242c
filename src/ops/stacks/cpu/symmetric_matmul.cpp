#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/rounding.h"
#include "ops/stacks/backends.h"
#include "ops/stacks/cpu/rounded_operand.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

void round_operand(const Tensor& out, const ConstTensor& operand, MatmulPrecision precision,
                   const ConstTensor& state) {
  const auto round_all = [&](auto round) {
    for_each_chunk(operand, [&](int64_t s, int64_t begin, int64_t end) {
      if (state && !(state.i32()[s] & kActive)) return;
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

// A and B were rounded; `inactive` is what blocks that are not active get, unless they keep theirs.
void multiply(const Tensor& c, const ConstTensor& a, const ConstTensor& b,
              const ConstTensor& inactive, const SymmetricMatmul& options) {
  const int64_t n = c.dim(1), size = n * n;
  const int32_t* state = options.state.i32();
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

// Eigenvectors as they are, and as products take them.
struct Eigenvectors {
  const ConstTensor &exact, &rounded;
};

void assemble(const Tensor& c, const ConstTensor& weights, const Eigenvectors& vectors,
              const ConstTensor& state, const Tensor& weighted, MatmulPrecision precision) {
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

}  // namespace

ConstTensor rounded_operand(Context& context, const TensorName& name, const ConstTensor& operand,
                            MatmulPrecision precision, const ConstTensor& state) {
  if (precision == MatmulPrecision::fp32) return operand;
  const Tensor out = context.scratch.take(name, operand.shape);
  context.compute(round_operand, out, operand, precision, state);
  return out;
}

// There are no copies on a CPU: products round for themselves.
Tensor take_rounded(Context&, const TensorName&, const Shape&, MatmulPrecision) {
  return {};
}
void round_values(Context&, const SymmetricStack&) {}

void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options) {
  const ArenaScope scope(context.scratch);
  const auto rounded = [&](const TensorName& name, const ConstTensor& operand) {
    return rounded_operand(context, name, operand, options.precision, options.state);
  };
  const bool same = a.values.data && a.values.data == b.values.data;
  const ConstTensor rounded_a = rounded("rounded A", a.values);
  const ConstTensor rounded_b = same ? rounded_a : rounded("rounded B", b.values);
  const bool copies_b = options.inactive == SymmetricMatmul::Inactive::copy_b;
  context.compute(multiply, c.values, rounded_a, rounded_b, (copies_b ? b : a).values, options);
}

void from_spectrum(Context& context, const Tensor& c, const ConstTensor& weights,
                   const ConstTensor& vectors, const ConstTensor& state,
                   MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const Tensor weighted = context.scratch.take("weighted vectors", c.shape);
  const ConstTensor rounded =
      rounded_operand(context, "rounded vectors", vectors, precision, state);
  context.compute(assemble, c, weights, Eigenvectors{vectors, rounded}, state, weighted, precision);
}

}  // namespace dashlm::cpu
