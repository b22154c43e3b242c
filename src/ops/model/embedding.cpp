#include "ops/model/embedding.h"

#include "ops/core/cpu/run.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void embedding(Context& context, const Tensor& out, const Tensor& table, const Tensor& tokens) {
  expect("embedding", tokens, {tokens.elements()}, DType::i32);
  expect_f32_or_bf16("embedding", table, {table.dim(0), out.dim(1)});
  expect_at_least("embedding", out, {tokens.dim(0), table.dim(1)}, table.dtype);
  DASHLM_DISPATCH(context, embedding, out, table, tokens);
}

void embedding_backward(Context& context, const Tensor& d_table, const Tensor& d_out,
                        const Tensor& tokens) {
  expect("embedding_backward", tokens, {tokens.elements()}, DType::i32);
  expect("embedding_backward", d_table, {d_table.dim(0), d_out.dim(1)});
  expect_f32_or_bf16("embedding_backward", d_out, {tokens.dim(0), d_table.dim(1)});
  DASHLM_CUDA(context, embedding_backward, d_table, d_out, tokens);
  cpu::run(context, cpu::embedding_backward, d_table, cpu::reads(d_out), tokens);
}

}  // namespace dashlm
