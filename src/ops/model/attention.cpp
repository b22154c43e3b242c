#include "ops/model/attention.h"

#include "ops/core/cpu/run.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const Tensor& out, const Tensor& qkv,
           const AttentionHeads& heads) {
  if (heads.key_value < 1 || heads.query % heads.key_value != 0) {
    fail_runtime("{}: {} query heads cannot share {} key heads", operation, heads.query,
                 heads.key_value);
  }
  expect_f32_or_bf16(operation, qkv,
                     {qkv.dim(0), qkv.dim(1), heads.query + 2 * heads.key_value, qkv.dim(3)});
  expect(operation, out, {qkv.dim(0), qkv.dim(1), heads.query, qkv.dim(3)}, qkv.dtype);
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
      context.scratch.take("attention.work", {cpu::attention_scratch(qkv.dim(1), qkv.dim(3))});
  cpu::run(context, cpu::attention, cpu::writes(out), log_sum_exp, cpu::reads(qkv), heads, work);
}

void attention_backward(Context& context, const Tensor& d_qkv, const Tensor& d_out,
                        const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
                        const AttentionHeads& heads) {
  check("attention_backward", out, qkv, heads);
  expect("attention_backward", d_out, out.shape, qkv.dtype);
  expect("attention_backward", d_qkv, qkv.shape, qkv.dtype);
  expect("attention_backward", log_sum_exp, {qkv.dim(0), heads.query, qkv.dim(1)});
  context.flops += 4 * causal_flops(qkv, heads);  // dO·Vᵀ, dQ, dK, dV; not Q·Kᵀ again
  DASHLM_CUDA(context, attention_backward, d_qkv, d_out, out, log_sum_exp, qkv, heads);
  const ArenaScope scope(context.scratch);
  const Tensor work =
      context.scratch.take("attention.work", {cpu::attention_scratch(qkv.dim(1), qkv.dim(3))});
  cpu::run(context, cpu::attention_backward, cpu::writes(d_qkv), cpu::reads(d_out), cpu::reads(out),
           log_sum_exp, cpu::reads(qkv), heads, work);
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const Tensor& qkv, const AttentionHeads& heads, int64_t past) {
  check("cached_attention", out, qkv, heads);
  expect("cached_attention", keys, {keys.dim(0), heads.key_value, qkv.dim(3)}, qkv.dtype);
  expect("cached_attention", values, keys.shape, qkv.dtype);
  if (qkv.dim(0) != 1 || past + qkv.dim(1) > keys.dim(0)) {
    fail_runtime("cached_attention: {} from position {} does not fit the cache {}", qkv.text(),
                 past, keys.text());
  }
  DASHLM_CUDA(context, cached_attention, out, keys, values, qkv, heads, past);
  const ArenaScope scope(context.scratch);
  const Tensor work =
      context.scratch.take("attention.work", {cpu::attention_scratch(keys.dim(0), qkv.dim(3))});
  cpu::run(context, cpu::cached_attention, cpu::writes(out), cpu::updates(keys),
           cpu::updates(values), cpu::reads(qkv), heads, past, work);
}

}  // namespace dashlm
