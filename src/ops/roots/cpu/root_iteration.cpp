#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/roots/backends.h"
#include "ops/roots/cpu/magnitude_bits.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

constexpr uint32_t kInfinity = 0x7F800000u;  // bits; those of NaN are larger

uint32_t largest_bits(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude_bits(x[i]));
  return largest;
}

// The largest power of two that is at most x, for a positive finite x.
float power_of_two_below(float x) {
  return std::ldexp(1.0f, std::ilogb(x));
}

void normalize(const Tensor& out, const Tensor& unit, const Tensor& state,
               const ConstTensor& factors, float least) {
  const int64_t size = factors.dim(1) * factors.dim(2);
  for_each_block(factors, [&](int64_t s) {
    const float* in = factors.f32() + s * size;
    float* to = out.f32() + s * size;
    const uint32_t largest = largest_bits(in, size);
    state.i32()[s] = largest >= kInfinity ? kFailed : largest == 0 ? kZero : kActive;
    unit.f32()[s] = 1.0f;
    if (state.i32()[s] != kActive) {
      std::fill_n(to, size, 0.0f);
      return;
    }
    const float power = power_of_two_below(std::max(std::bit_cast<float>(largest), least));
    unit.f32()[s] = power;
    // 1 / power may overflow, its root does not: two exact multiplications.
    const int exponent = -std::ilogb(power);
    const float half = std::ldexp(1.0f, exponent / 2);
    const float other = std::ldexp(1.0f, exponent - exponent / 2);
    for (int64_t i = 0; i < size; ++i) to[i] = in[i] * half * other;
  });
}

void store(const Tensor& roots, const ConstTensor& result, const ConstTensor& multiplier,
           const Tensor& state) {
  const int64_t size = roots.dim(1) * roots.dim(2);
  for_each_block(roots, [&](int64_t s) {
    int32_t& flags = state.i32()[s];
    float* to = roots.f32() + s * size;
    const float* from = result.f32() + s * size;
    if (flags & kZero) std::fill_n(to, size, 0.0f);
    if (flags & (kZero | kFailed)) return;
    const float factor = multiplier ? multiplier.f32()[s] : 1.0f;
    // Rounding keeps order, so the largest product is finite if and only if all are.
    const float most = std::bit_cast<float>(largest_bits(from, size)) * factor;
    if (!std::isfinite(most) || !std::isfinite(factor)) {
      flags = kFailed;
      return;
    }
    for (int64_t i = 0; i < size; ++i) to[i] = factor * from[i];
  });
}

}  // namespace

void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const ConstTensor& factors, float least) {
  context.compute(normalize, out, unit, state, factors, least);
}

void restart_blocks(Context&, const Tensor& state) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    int32_t& flags = state.i32()[s];
    if (flags & (kFailed | kZero)) continue;
    if (flags & kActive) flags |= kLate;
    flags |= kActive;
  }
}

void fail_above(Context&, const Tensor& state, const ConstTensor& value, float limit) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    int32_t& flags = state.i32()[s];
    if ((flags & kActive) && !(value.f32()[s] <= limit)) flags = kFailed;
  }
}

void store_roots(Context& context, const Tensor& roots, const ConstTensor& result,
                 const ConstTensor& multiplier, const Tensor& state) {
  context.compute(store, roots, result, multiplier, state);
}

}  // namespace dashlm::cpu
