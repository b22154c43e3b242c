#include "ops/model/swiglu.h"

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {

void swiglu(Context& context, const Tensor& out, const ConstTensor& gate_up) {
  expect_f32_or_bf16("swiglu", out, {out.dim(0), out.dim(1)});
  expect("swiglu", gate_up, {out.dim(0), 2 * out.dim(1)}, out.dtype);
  DASHLM_BACKEND(context, swiglu)(context, out, gate_up);
}

void swiglu_backward(Context& context, const Tensor& d_gate_up, const ConstTensor& d_out,
                     const ConstTensor& gate_up) {
  expect_f32_or_bf16("swiglu_backward", d_out, {d_out.dim(0), d_out.dim(1)});
  expect("swiglu_backward", gate_up, {d_out.dim(0), 2 * d_out.dim(1)}, d_out.dtype);
  expect("swiglu_backward", d_gate_up, gate_up.shape, d_out.dtype);
  DASHLM_BACKEND(context, swiglu_backward)(context, d_gate_up, d_out, gate_up);
}

}  // namespace dashlm
