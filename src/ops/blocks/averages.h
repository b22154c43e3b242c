// Running averages of blocks.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// average = beta · average + weight · x, and the same for x². Any shape.
void update_average(Context& context, const Tensor& average, const ConstTensor& x, float beta,
                    float weight);
void update_square_average(Context& context, const Tensor& average, const ConstTensor& x,
                           float beta, float weight);

}  // namespace dashlm
