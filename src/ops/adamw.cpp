#include "ops/adamw.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {

void adamw(Context& context, const Tensor& weight, const Tensor& gradient, const Tensor& moment1,
           const Tensor& moment2, const AdamwStep& step) {
  expect("adamw", weight, weight.shape);
  expect("adamw", gradient, weight.shape);
  expect("adamw", moment1, weight.shape);
  expect("adamw", moment2, weight.shape);
  DASHLM_DISPATCH(context, adamw, weight, gradient, moment1, moment2, step);
}

}  // namespace dashlm
