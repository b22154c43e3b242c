// The gated activation of Llama's feed-forward layer (Shazeer 2020).
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// Tensors are all f32 or all bf16; arithmetic is f32.
// out (N, f) = silu(gate) · up, where gate_up (N, 2f) holds gate and up side by side and
// silu(x) = x / (1 + exp(-x)).
void swiglu(Context& context, const Tensor& out, const ConstTensor& gate_up);

// d_gate_up (N, 2f) from d_out (N, f); it may be the same memory as gate_up.
void swiglu_backward(Context& context, const Tensor& d_gate_up, const ConstTensor& d_out,
                     const ConstTensor& gate_up);

}  // namespace dashlm
