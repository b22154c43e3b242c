#include "ops/blocks/adamw.h"

#include "ops/core/cpu/kernels.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void adamw(Context& context, const Tensor& weights, const Tensor& gradients, const Tensor& places,
           const Tensor& lr_scale, const Tensor& moment1, const Tensor& moment2,
           const AdamwStep& step) {
  expect("adamw", moment1, {moment1.dim(0), moment1.dim(1), moment1.dim(2)});
  expect("adamw", moment2, moment1.shape);
  expect("adamw", places, {moment1.dim(0), 2}, DType::i64);
  expect("adamw", lr_scale, {moment1.dim(0)});
  expect("adamw", weights, {weights.elements()});
  expect("adamw", gradients, weights.shape);
  DASHLM_DISPATCH(context, adamw, weights, gradients, places, lr_scale, moment1, moment2, step);
}

}  // namespace dashlm
