// bfloat16 on the host: the upper half of a float.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/dtype.h"

namespace dashlm {

class Bf16 {
 public:
  Bf16() = default;
  // Rounds to nearest, ties to even. NaN stays NaN.
  explicit Bf16(float x) {
    const auto word = std::bit_cast<uint32_t>(x);
    const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    const uint32_t rounded = word + 0x7FFFu + (word >> 16 & 1u);
    bits_ = static_cast<uint16_t>((nan ? word | 0x400000u : rounded) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16);
  }

 private:
  uint16_t bits_ = 0;
};

template <>
constexpr DType dtype_of<Bf16>() {
  return DType::bf16;
}

}  // namespace dashlm
