// Sums over whole tensors, in double precision and in an order that depends on the size alone. The
// result is on the host.
#pragma once

#include "ops/context.h"

namespace dashlm {

double sum(Context& context, const Tensor& x);
double sum_of_squares(Context& context, const Tensor& x);

}  // namespace dashlm
