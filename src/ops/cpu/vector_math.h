// Elementary functions that compilers can vectorise.
#pragma once

#include <bit>
#include <cstdint>

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

}  // namespace dashlm::cpu
