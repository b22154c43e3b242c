#include "ops/swiglu.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {

void swiglu(Context& context, const Tensor& out, const Tensor& gate_up) {
  expect("swiglu", out, {out.dim(0), out.dim(1)});
  expect("swiglu", gate_up, {out.dim(0), 2 * out.dim(1)});
  DASHLM_DISPATCH(context, swiglu, out, gate_up);
}

void swiglu_backward(Context& context, const Tensor& d_gate_up, const Tensor& d_out,
                     const Tensor& gate_up) {
  expect("swiglu_backward", d_out, {d_out.dim(0), d_out.dim(1)});
  expect("swiglu_backward", gate_up, {d_out.dim(0), 2 * d_out.dim(1)});
  expect("swiglu_backward", d_gate_up, gate_up.shape);
  DASHLM_DISPATCH(context, swiglu_backward, d_gate_up, d_out, gate_up);
}

}  // namespace dashlm
