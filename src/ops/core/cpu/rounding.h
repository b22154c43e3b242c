// Rounding of fp32 values to the formats of MatmulPrecision, to nearest with ties to even. The
// results are again floats, so that fp32 products of them are what tensor cores compute (up to the
// order of additions): a product of two values of 11 significant bits is exact in fp32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/core/precision.h"

namespace dashlm::cpu {

// Drops the low `bits` bits of the mantissa. Overflow carries into infinity; NaN stays NaN.
inline float round_mantissa(float x, int bits) {
  const auto word = std::bit_cast<uint32_t>(x);
  const uint32_t odd = (word >> bits) & 1u;
  const uint32_t rounded = (word + (1u << (bits - 1)) - 1u + odd) & ~((1u << bits) - 1u);
  return (word & 0x7FFFFFFFu) > 0x7F800000u ? x : std::bit_cast<float>(rounded);
}

inline float round_to_tf32(float x) {
  return round_mantissa(x, 13);
}

inline float round_to_bf16(float x) {
  return round_mantissa(x, 16);
}

inline float round_to_fp16(float x) {
  const float magnitude = std::fabs(x);
  const float normal = round_mantissa(x, 13);
  // Below 2^-14 fp16 has a fixed quantum of 2^-24: the spacing of floats in [1/2, 1).
  const float half = std::copysign(0.5f, x);
  const float subnormal = std::copysign((x + half) - half, x);
  const float infinite = std::copysign(std::bit_cast<float>(0x7F800000u), x);
  const float finite = magnitude < 0x1p-14f ? subnormal : normal;
  return magnitude >= 65520.0f ? infinite : finite;  // NaN compares false twice and stays
}

inline float round_to(MatmulPrecision precision, float x) {
  switch (precision) {
    case MatmulPrecision::fp32:
      return x;
    case MatmulPrecision::tf32:
      return round_to_tf32(x);
    case MatmulPrecision::fp16:
      return round_to_fp16(x);
    case MatmulPrecision::bf16:
      return round_to_bf16(x);
  }
  return x;
}

}  // namespace dashlm::cpu
