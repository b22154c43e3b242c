// The precision of operands of matrix products.
#pragma once

#include <utility>

#include "config/schema.h"

namespace dashlm {

// Operands are rounded to nearest (ties to even) and products are accumulated in fp32, as tensor
// cores do. tf32 has fp32's exponent and 10 bits of mantissa; fp16 overflows to infinity from
// 65520 on and keeps subnormals down to 2^-24; bf16 has fp32's exponent and 7 bits of mantissa.
enum class MatmulPrecision { fp32, tf32, fp16, bf16 };

template <>
struct EnumNames<MatmulPrecision> {
  static constexpr std::pair<MatmulPrecision, const char*> names[] = {
      {MatmulPrecision::fp32, "fp32"},
      {MatmulPrecision::tf32, "tf32"},
      {MatmulPrecision::fp16, "fp16"},
      {MatmulPrecision::bf16, "bf16"},
  };
};

}  // namespace dashlm
