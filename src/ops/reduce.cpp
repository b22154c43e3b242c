#include "ops/reduce.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {

double sum(Context& context, const Tensor& x) {
  DASHLM_CUDA(context, sum, x);
  return context.planning() ? 0.0 : cpu::sum(x);
}

double sum_of_squares(Context& context, const Tensor& x) {
  DASHLM_CUDA(context, sum_of_squares, x);
  return context.planning() ? 0.0 : cpu::sum_of_squares(x);
}

}  // namespace dashlm
