#include "ops/model/attention.h"

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {
namespace {

void check(const char* operation, const ConstTensor& out, const ConstTensor& qkv,
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
double causal_flops(const ConstTensor& qkv, const AttentionHeads& heads) {
  const auto t = static_cast<double>(qkv.dim(1));
  return static_cast<double>(qkv.dim(0) * heads.query * qkv.dim(3)) * t * (t + 1);
}

}  // namespace

void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
               const ConstTensor& qkv, const AttentionHeads& heads) {
  check("attention", out, qkv, heads);
  expect("attention", log_sum_exp, {qkv.dim(0), heads.query, qkv.dim(1)});
  context.flops += 2 * causal_flops(qkv, heads);  // Q·Kᵀ and P·V
  DASHLM_BACKEND(context, attention)(context, out, log_sum_exp, qkv, heads);
}

void attention_backward(Context& context, const AttentionBackward& t, const AttentionHeads& heads) {
  check("attention_backward", t.out, t.qkv, heads);
  expect("attention_backward", t.d_out, t.out.shape, t.qkv.dtype);
  expect("attention_backward", t.d_qkv, t.qkv.shape, t.qkv.dtype);
  expect("attention_backward", t.log_sum_exp, {t.qkv.dim(0), heads.query, t.qkv.dim(1)});
  context.flops += 4 * causal_flops(t.qkv, heads);  // dO·Vᵀ, dQ, dK, dV; not Q·Kᵀ again
  DASHLM_BACKEND(context, attention_backward)(context, t, heads);
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const ConstTensor& qkv, const AttentionHeads& heads, int64_t past) {
  check("cached_attention", out, qkv, heads);
  expect("cached_attention", keys, {keys.dim(0), heads.key_value, qkv.dim(3)}, qkv.dtype);
  expect("cached_attention", values, keys.shape, qkv.dtype);
  if (qkv.dim(0) != 1 || past + qkv.dim(1) > keys.dim(0)) {
    fail_runtime("cached_attention: {} from position {} does not fit the cache {}", qkv.text(),
                 past, keys.text());
  }
  DASHLM_BACKEND(context, cached_attention)(context, out, keys, values, qkv, heads, past);
}

}  // namespace dashlm
