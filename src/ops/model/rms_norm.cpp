#include "ops/model/rms_norm.h"

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {
namespace {

// `out` (N, d) stands for the output or its gradient.
void check(const char* operation, const ConstTensor& x, const ConstTensor& out,
           const ConstTensor& rstd, const ConstTensor& weight) {
  const Shape full{x.dim(0), x.dim(1)};
  expect_f32_or_bf16(operation, out, full);
  expect_at_least(operation, x, full, out.dtype);
  expect(operation, rstd, {x.dim(0)});
  expect(operation, weight, {x.dim(1)}, out.dtype);
}

}  // namespace

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const ConstTensor& x,
              const ConstTensor& weight, float eps) {
  check("rms_norm", x, out, rstd, weight);
  DASHLM_BACKEND(context, rms_norm)(context, out, rstd, x, weight, eps);
}

void rms_norm_backward(Context& context, const RmsNormBackward& t) {
  check("rms_norm_backward", t.x, t.d_out, t.rstd, t.weight);
  expect("rms_norm_backward", t.d_x, t.x.shape, t.x.dtype);
  expect("rms_norm_backward", t.d_weight, t.weight.shape);
  if (t.rounded) expect("rms_norm_backward", t.rounded, t.x.shape, DType::bf16);
  DASHLM_BACKEND(context, rms_norm_backward)(context, t);
}

}  // namespace dashlm
