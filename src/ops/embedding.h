// Token embedding.
#pragma once

#include "ops/context.h"

namespace dashlm {

// out (N, d) = table (V, d) at tokens (N) i32. Tokens must be in [0, V), which the data reader
// checks.
void embedding(Context& context, const Tensor& out, const Tensor& table, const Tensor& tokens);

// d_table (V, d) += d_out (N, d) at tokens (N), added in the order of the tokens.
void embedding_backward(Context& context, const Tensor& d_table, const Tensor& d_out,
                        const Tensor& tokens);

}  // namespace dashlm
