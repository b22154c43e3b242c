// Sums over whole f32 tensors, in double precision and in an order that depends on the size alone.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// total (1) f64 += the sum of x, or of its squares. The result stays on the device.
void add_sum(Context& context, const Tensor& total, const ConstTensor& x);
void add_sum_of_squares(Context& context, const Tensor& total, const ConstTensor& x);

// The same, returned to the host, which waits for it.
double sum(Context& context, const ConstTensor& x);
double sum_of_squares(Context& context, const ConstTensor& x);

}  // namespace dashlm
