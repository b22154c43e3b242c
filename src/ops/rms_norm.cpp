#include "ops/rms_norm.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const Tensor& x, const Tensor& same, const Tensor& rstd,
           const Tensor& weight) {
  const Shape full{x.dim(0), x.dim(1)};
  expect(operation, x, full);
  expect(operation, same, full);
  expect(operation, rstd, {x.dim(0)});
  expect(operation, weight, {x.dim(1)});
}

}  // namespace

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps) {
  check("rms_norm", x, out, rstd, weight);
  DASHLM_DISPATCH(context, rms_norm, out, rstd, x, weight, eps);
}

void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight) {
  check("rms_norm_backward", x, d_x, rstd, weight);
  expect("rms_norm_backward", d_out, x.shape);
  expect("rms_norm_backward", d_weight, weight.shape);
  DASHLM_DISPATCH(context, rms_norm_backward, d_x, d_weight, d_out, x, rstd, weight);
}

}  // namespace dashlm
