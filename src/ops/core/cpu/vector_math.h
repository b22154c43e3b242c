// Elementary functions that compilers can vectorise.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace dashlm::cpu {

// e^x to about 1 ulp; 0 below -86.98 (where e^x is 1.7e-38), +inf above 88.7, NaN stays NaN.
// Cody-Waite reduction x = n·ln 2 + r, |r| <= ln(2)/2, then the Taylor polynomial of degree 7,
// whose remainder is below 6e-9 there.
inline float exp_f32(float x) {
  constexpr float kLowest = -86.98f, kHighest = 88.7f;
  constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
  const float clamped = x < kLowest ? kLowest : (x > kHighest ? kHighest : x);
  const float shifted = clamped * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2^n in two factors, since n = 128 has no float of its own; 2^(n-1) has for n >= -125, which
  // kLowest sees to.
  const auto exponent =
      static_cast<uint32_t>(std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound));
  const float scale = std::bit_cast<float>((exponent + 126u) << 23);
  const float value = 2.0f * p * scale;  // in this order no intermediate result is subnormal
  const float bounded = x < kLowest ? 0.0f : value;
  return x > kHighest ? std::bit_cast<float>(0x7F800000u) : bounded;
}

// The largest of count >= 1 numbers; NaN if one of them is a NaN without sign. It compares integers
// in the order of the floats, since compilers vectorise a maximum of floats only with -ffast-math.
inline float max_of(const float* x, int64_t count) {
  const auto flip = [](int32_t bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); };  // its inverse
  int32_t largest = std::numeric_limits<int32_t>::min();
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < count; ++j) {
    const int32_t key = flip(std::bit_cast<int32_t>(x[j]));
    largest = key > largest ? key : largest;
  }
  return std::bit_cast<float>(flip(largest));
}

// out = exp(x - shift), which may be in place; returns the sum of out. Two loops, since clang
// vectorises no sum of conditional terms, which exp_f32() gives.
inline float exp_and_sum(float* out, const float* x, float shift, int64_t count) {
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) out[j] = exp_f32(x[j] - shift);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < count; ++j) sum += out[j];
  return sum;
}

}  // namespace dashlm::cpu
