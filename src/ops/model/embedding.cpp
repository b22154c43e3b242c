#include "ops/model/embedding.h"

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {

void embedding(Context& context, const Tensor& out, const ConstTensor& table,
               const ConstTensor& tokens) {
  expect("embedding", tokens, {tokens.elements()}, DType::i32);
  expect_f32_or_bf16("embedding", table, {table.dim(0), out.dim(1)});
  expect_at_least("embedding", out, {tokens.dim(0), table.dim(1)}, table.dtype);
  context.compute(DASHLM_BACKEND(context, embedding), context, out, table, tokens);
}

void embedding_backward(Context& context, const Tensor& d_table, const ConstTensor& d_out,
                        const ConstTensor& tokens) {
  expect("embedding_backward", tokens, {tokens.elements()}, DType::i32);
  expect("embedding_backward", d_table, {d_table.dim(0), d_out.dim(1)});
  expect_f32_or_bf16("embedding_backward", d_out, {tokens.dim(0), d_table.dim(1)});
  DASHLM_BACKEND(context, embedding_backward)(context, d_table, d_out, tokens);
}

}  // namespace dashlm
