// The last part of Llama: final norm, vocabulary projection and loss, a chunk of tokens at a time.
#include <algorithm>

#include "model/llama.h"
#include "ops/core/matmul.h"
#include "ops/model/attention.h"
#include "ops/model/cross_entropy.h"
#include "ops/model/embedding.h"
#include "ops/model/rms_norm.h"

namespace dashlm {
namespace {

// Calls body(begin, count) for chunks of the `tokens` rows.
template <class Body>
void for_chunks(int64_t tokens, int64_t chunk, const Body& body) {
  for (int64_t begin = 0; begin < tokens; begin += chunk) {
    body(begin, std::min(chunk, tokens - begin));
  }
}

}  // namespace

void Llama::head_backward(Context& context, const Tensor& x, const Tensor& targets,
                          float loss_scale, const LlamaTensors& gradients,
                          const ResidualGradient& d, const Tensor& losses) const {
  const ArenaScope scope(context.scratch);
  const int64_t n = x.dim(0), v = config_.vocab_size, chunk = logit_rows(context, n, v);
  const Tensor norm = context.scratch.take("head.norm", x.shape, types_.compute);
  const Tensor d_norm = context.scratch.take("head.d_norm", x.shape, types_.compute);
  const Tensor rstd = context.scratch.take("head.rstd", {n});
  const Tensor logits = context.scratch.take("head.logits", {chunk, v});
  // An f32 gradient may take the place of the logits.
  const Tensor d_logits = types_.compute == DType::f32
                              ? logits
                              : context.scratch.take("head.d_logits", {chunk, v}, types_.compute);

  rms_norm(context, norm, rstd, x, weights_.final_norm, static_cast<float>(config_.norm_eps));
  for_chunks(n, chunk, [&](int64_t begin, int64_t count) {
    const Tensor input = norm.rows(begin, count);
    const Tensor rows = logits.rows(0, count), d_rows = d_logits.rows(0, count);
    matmul(context, rows, input, weights_.lm_head, kWeightTransposed);
    cross_entropy(context, losses.rows(begin, count), d_rows, rows, targets.rows(begin, count),
                  loss_scale);
    matmul(context, d_norm.rows(begin, count), d_rows, weights_.lm_head);
    matmul_add(context, gradients.lm_head, gradients.lm_head, d_rows, input, kWeightGradient);
  });
  context.clear(d.sum);
  rms_norm_backward(context, {.d_x = d.sum,
                              .d_weight = gradients.final_norm,
                              .d_out = d_norm,
                              .x = x,
                              .rstd = rstd,
                              .weight = weights_.final_norm,
                              .rounded = d.rounded()});
}

void Llama::head_losses(Context& context, const Tensor& x, const Tensor& targets,
                        const Tensor& losses) const {
  const ArenaScope scope(context.scratch);
  const int64_t n = x.dim(0), v = config_.vocab_size, chunk = logit_rows(context, n, v);
  const Tensor norm = context.scratch.take("head.norm", x.shape, types_.compute);
  const Tensor rstd = context.scratch.take("head.rstd", {n});
  const Tensor logits = context.scratch.take("head.logits", {chunk, v});
  rms_norm(context, norm, rstd, x, weights_.final_norm, static_cast<float>(config_.norm_eps));
  for_chunks(n, chunk, [&](int64_t begin, int64_t count) {
    const Tensor rows = logits.rows(0, count);
    matmul(context, rows, norm.rows(begin, count), weights_.lm_head, kWeightTransposed);
    cross_entropy_loss(context, losses.rows(begin, count), rows, targets.rows(begin, count));
  });
}

void Llama::logits(Context& context, Arena& activations, const Tensor& tokens,
                   const BatchShape& shape, const Tensor& logits) const {
  const ArenaScope scope(activations);
  const Tensor x = final_state(context, activations, tokens, shape);
  const Tensor norm = activations.take("head.norm", x.shape, types_.compute);
  const Tensor rstd = activations.take("head.rstd", {x.dim(0)});
  rms_norm(context, norm, rstd, x, weights_.final_norm, static_cast<float>(config_.norm_eps));
  matmul(context, logits, norm, weights_.lm_head, kWeightTransposed);
}

void Llama::decode(Context& context, Arena& activations, KeyValueCache& cache, const Tensor& tokens,
                   const Tensor& logits) const {
  const ArenaScope scope(activations);
  const BatchShape shape{1, tokens.dim(0)};
  const int64_t n = shape.tokens(), d = config_.d_model;
  Tensor x = activations.take("input", {n, d}, types_.residual);
  Tensor y = activations.take("output", {n, d}, types_.residual);
  const LayerActivations a = LayerActivations::take(activations, config_, types_, shape);
  embedding(context, x, weights_.embed, tokens);
  for (int64_t i = 0; i < config_.n_layer; ++i) {
    const auto at = static_cast<size_t>(i);
    layer(i).forward(context, a, x, shape, cache.length, [&](const LayerActivations& act) {
      cached_attention(context, act.attended.view({1, n, config_.n_head, config_.head_dim()}),
                       cache.keys[at], cache.values[at],
                       act.qkv.view({1, n, config_.qkv_heads(), config_.head_dim()}),
                       {config_.n_head, config_.n_kv_head}, cache.length);
    });
    layer(i).output(context, a, y);
    std::swap(x, y);
  }
  cache.length += n;
  const Tensor last = x.rows(n - 1, 1);
  const Tensor norm = activations.take("head.norm", {1, d}, types_.compute);
  const Tensor rstd = activations.take("head.rstd", {1});
  rms_norm(context, norm, rstd, last, weights_.final_norm, static_cast<float>(config_.norm_eps));
  matmul(context, logits, norm, weights_.lm_head, kWeightTransposed);
}

}  // namespace dashlm
