#include "ops/attention.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const Tensor& out, const Tensor& qkv,
           const AttentionHeads& heads) {
  if (heads.key_value < 1 || heads.query % heads.key_value != 0) {
    fail_runtime("{}: {} query heads cannot share {} key heads", operation, heads.query,
                 heads.key_value);
  }
  expect(operation, qkv, {qkv.dim(0), qkv.dim(1), heads.query + 2 * heads.key_value, qkv.dim(3)});
  expect(operation, out, {qkv.dim(0), qkv.dim(1), heads.query, qkv.dim(3)});
}

// Multiply-adds of one product of queries with keys, counting only what causality leaves.
double causal_flops(const Tensor& qkv, const AttentionHeads& heads) {
  const auto t = static_cast<double>(qkv.dim(1));
  return static_cast<double>(qkv.dim(0) * heads.query * qkv.dim(3)) * t * (t + 1);
}

}  // namespace

void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
               const AttentionHeads& heads) {
  check("attention", out, qkv, heads);
  expect("attention", log_sum_exp, {qkv.dim(0), heads.query, qkv.dim(1)});
  context.flops += 2 * causal_flops(qkv, heads);  // Q·Kᵀ and P·V
  DASHLM_CUDA(context, attention, out, log_sum_exp, qkv, heads);
  const ArenaScope scope(context.scratch);
  const Tensor work =
      context.scratch.take("attention.scores", {cpu::attention_scratch(qkv.dim(1))});
  DASHLM_CPU(context, attention, out, log_sum_exp, qkv, heads, work);
}

void attention_backward(Context& context, const Tensor& d_qkv, const Tensor& d_out,
                        const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
                        const AttentionHeads& heads) {
  check("attention_backward", out, qkv, heads);
  expect("attention_backward", d_out, out.shape);
  expect("attention_backward", d_qkv, qkv.shape);
  expect("attention_backward", log_sum_exp, {qkv.dim(0), heads.query, qkv.dim(1)});
  context.flops += 5 * causal_flops(qkv, heads);  // Q·Kᵀ again, dO·Vᵀ, dQ, dK, dV
  DASHLM_CUDA(context, attention_backward, d_qkv, d_out, out, log_sum_exp, qkv, heads);
  const ArenaScope scope(context.scratch);
  const Tensor work =
      context.scratch.take("attention.scores", {2, cpu::attention_scratch(qkv.dim(1))});
  DASHLM_CPU(context, attention_backward, d_qkv, d_out, out, log_sum_exp, qkv, heads, work);
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const Tensor& qkv, const AttentionHeads& heads, int64_t past) {
  check("cached_attention", out, qkv, heads);
  expect("cached_attention", keys, {keys.dim(0), heads.key_value, qkv.dim(3)});
  expect("cached_attention", values, keys.shape);
  if (qkv.dim(0) != 1 || past + qkv.dim(1) > keys.dim(0)) {
    fail_runtime("cached_attention: {} from position {} does not fit the cache {}", qkv.text(),
                 past, keys.text());
  }
  DASHLM_CUDA(context, cached_attention, out, keys, values, qkv, heads, past);
  const ArenaScope scope(context.scratch);
  const Tensor work =
      context.scratch.take("attention.scores", {cpu::attention_scratch(keys.dim(0))});
  DASHLM_CPU(context, cached_attention, out, keys, values, qkv, heads, past, work);
}

}  // namespace dashlm
