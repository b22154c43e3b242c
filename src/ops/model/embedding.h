// Token embedding.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// out (N, d) = table (V, d) at tokens (N) i32. Tokens must be in [0, V), which the data reader
// checks. Both are f32 or bf16; `out` may have the wider type.
void embedding(Context& context, const Tensor& out, const ConstTensor& table,
               const ConstTensor& tokens);

// d_table (V, d) f32 += d_out (N, d) f32 or bf16 at tokens (N), added in the order of the tokens.
void embedding_backward(Context& context, const Tensor& d_table, const ConstTensor& d_out,
                        const ConstTensor& tokens);

}  // namespace dashlm
