#include "ops/model/rms_norm.h"

#include "ops/core/cpu/run.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

// `out` (N, d) stands for the output or its gradient.
void check(const char* operation, const Tensor& x, const Tensor& out, const Tensor& rstd,
           const Tensor& weight) {
  const Shape full{x.dim(0), x.dim(1)};
  expect_f32_or_bf16(operation, out, full);
  expect_at_least(operation, x, full, out.dtype);
  expect(operation, rstd, {x.dim(0)});
  expect(operation, weight, {x.dim(1)}, out.dtype);
}

}  // namespace

void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps) {
  check("rms_norm", x, out, rstd, weight);
  DASHLM_CUDA(context, rms_norm, out, rstd, x, weight, eps);
  cpu::run(context, cpu::rms_norm, cpu::writes(out), rstd, cpu::reads(x), cpu::reads(weight), eps);
}

void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight, const Tensor* rounded) {
  check("rms_norm_backward", x, d_out, rstd, weight);
  expect("rms_norm_backward", d_x, x.shape, x.dtype);
  expect("rms_norm_backward", d_weight, weight.shape);
  if (rounded) expect("rms_norm_backward", *rounded, x.shape, DType::bf16);
  DASHLM_CUDA(context, rms_norm_backward, d_x, d_weight, d_out, x, rstd, weight, rounded);
  cpu::run(context, cpu::rms_norm_backward, cpu::updates(d_x), d_weight, cpu::reads(d_out),
           cpu::reads(x), rstd, cpu::reads(weight));
  if (rounded) DASHLM_CPU(context, convert, *rounded, d_x);
}

}  // namespace dashlm
