// Conversion between element types.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// out = in, both f32 or bf16, of one shape. Rounds to nearest, ties to even, where bits are lost.
void convert(Context& context, const Tensor& out, const ConstTensor& in);

}  // namespace dashlm
