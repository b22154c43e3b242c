#include "model/layer.h"

#include "ops/core/matmul.h"
#include "ops/model/attention.h"
#include "ops/model/rms_norm.h"
#include "ops/model/rope.h"
#include "ops/model/swiglu.h"

namespace dashlm {
namespace {

Tensor by_head(const Tensor& x, const BatchShape& shape, int64_t heads) {
  return x.view({shape.sequences, shape.length, heads, x.dim(1) / heads});
}

}  // namespace

LayerActivations LayerActivations::take(Arena& arena, const ModelConfig& config,
                                        const ModelTypes& types, const BatchShape& shape) {
  const int64_t n = shape.tokens(), d = config.d_model, f = config.d_ff;
  LayerActivations a;
  a.norm1 = arena.take("norm1", {n, d}, types.compute);
  a.rstd1 = arena.take("rstd1", {n});
  a.qkv = arena.take("qkv", {n, config.qkv_width()}, types.compute);
  a.log_sum_exp = arena.take("log_sum_exp", {shape.sequences, config.n_head, shape.length});
  a.attended = arena.take("attended", {n, d}, types.compute);
  a.middle = arena.take("middle", {n, d}, types.residual);
  a.norm2 = arena.take("norm2", {n, d}, types.compute);
  a.rstd2 = arena.take("rstd2", {n});
  a.gate_up = arena.take("gate_up", {n, 2 * f}, types.compute);
  a.hidden = arena.take("hidden", {n, f}, types.compute);
  return a;
}

ResidualGradient ResidualGradient::take(Arena& arena, const ModelTypes& types, Shape shape) {
  const Tensor sum = arena.take("d_residual", shape, types.residual);
  if (types.residual == types.compute) return {sum, sum};
  return {sum, arena.take("d_residual, rounded", shape, types.compute)};
}

void Layer::forward(Context& context, const LayerActivations& a, const Tensor& x,
                    const BatchShape& shape) const {
  forward(context, a, x, shape, 0, [&](const LayerActivations& act) {
    attention(context, by_head(act.attended, shape, config.n_head), act.log_sum_exp,
              by_head(act.qkv, shape, config.qkv_heads()), {config.n_head, config.n_kv_head});
  });
}

void Layer::forward(Context& context, const LayerActivations& a, const Tensor& x,
                    const BatchShape& shape, int64_t first_position,
                    const AttentionFunction& attend) const {
  const auto eps = static_cast<float>(config.norm_eps);
  rms_norm(context, a.norm1, a.rstd1, x, weights.attn_norm, eps);
  matmul(context, a.qkv, a.norm1, weights.qkv, kWeightTransposed);
  rope(context, by_head(a.qkv, shape, config.qkv_heads()), rope_table,
       config.n_head + config.n_kv_head, RopeDirection::forward, first_position);
  attend(a);
  matmul_add(context, a.middle, x, a.attended, weights.attn_out, kWeightTransposed);

  rms_norm(context, a.norm2, a.rstd2, a.middle, weights.mlp_norm, eps);
  matmul(context, a.gate_up, a.norm2, weights.gate_up, kWeightTransposed);
  swiglu(context, a.hidden, a.gate_up);
}

void Layer::output(Context& context, const LayerActivations& a, const Tensor& y) const {
  matmul_add(context, y, a.middle, a.hidden, weights.down, kWeightTransposed);
}

void Layer::backward(Context& context, const LayerActivations& a, const Tensor& x,
                     const ResidualGradient& d, const LayerTensors& gradients,
                     const BatchShape& shape) const {
  const ArenaScope scope(context.scratch);
  const Tensor d_norm = context.scratch.take("d_norm", a.norm1.shape, a.norm1.dtype);

  {  // MLP
    const ArenaScope mlp_scope(context.scratch);
    const Tensor d_hidden = context.scratch.take("d_hidden", a.hidden.shape, a.hidden.dtype);
    matmul(context, d_hidden, d.operand, weights.down);
    matmul_add(context, gradients.down, gradients.down, d.operand, a.hidden, kWeightGradient);
    const Tensor& d_gate_up = a.gate_up;  // in place: nothing needs gate and up any more
    swiglu_backward(context, d_gate_up, d_hidden, a.gate_up);
    matmul(context, d_norm, d_gate_up, weights.gate_up);
    matmul_add(context, gradients.gate_up, gradients.gate_up, d_gate_up, a.norm2, kWeightGradient);
    rms_norm_backward(context, {.d_x = d.sum,
                                .d_weight = gradients.mlp_norm,
                                .d_out = d_norm,
                                .x = a.middle,
                                .rstd = a.rstd2,
                                .weight = weights.mlp_norm,
                                .rounded = d.rounded()});
  }

  const Tensor d_qkv = context.scratch.take("d_qkv", a.qkv.shape, a.qkv.dtype);
  const Tensor& d_attended = d_norm;
  const Tensor d_qkv_heads = by_head(d_qkv, shape, config.qkv_heads());
  matmul(context, d_attended, d.operand, weights.attn_out);
  matmul_add(context, gradients.attn_out, gradients.attn_out, d.operand, a.attended,
             kWeightGradient);
  attention_backward(context,
                     {.d_qkv = d_qkv_heads,
                      .d_out = by_head(d_attended, shape, config.n_head),
                      .out = by_head(a.attended, shape, config.n_head),
                      .log_sum_exp = a.log_sum_exp,
                      .qkv = by_head(a.qkv, shape, config.qkv_heads())},
                     {config.n_head, config.n_kv_head});
  rope(context, d_qkv_heads, rope_table, config.n_head + config.n_kv_head, RopeDirection::backward);
  matmul(context, d_norm, d_qkv, weights.qkv);
  matmul_add(context, gradients.qkv, gradients.qkv, d_qkv, a.norm1, kWeightGradient);
  rms_norm_backward(context, {.d_x = d.sum,
                              .d_weight = gradients.attn_norm,
                              .d_out = d_norm,
                              .x = x,
                              .rstd = a.rstd1,
                              .weight = weights.attn_norm,
                              .rounded = d.rounded()});
}

}  // namespace dashlm
