#include "model/llama.h"

#include <limits>

#include "ops/model/attention.h"
#include "ops/model/embedding.h"
#include "ops/model/rope.h"

namespace dashlm {

KeyValueCache KeyValueCache::take(Arena& arena, const ModelConfig& config, DType type,
                                  int64_t positions) {
  KeyValueCache cache;
  const Shape shape{positions, config.n_kv_head, config.head_dim()};
  for (int64_t i = 0; i < config.n_layer; ++i) {
    cache.keys.push_back(arena.take(fmt::format("layer{}.keys", i), shape, type));
    cache.values.push_back(arena.take(fmt::format("layer{}.values", i), shape, type));
  }
  return cache;
}

Llama::Llama(Context& context, const ModelConfig& config, const LlamaTensors& weights,
             Arena& table_arena, int64_t positions, DType residual)
    : config_(config),
      weights_(weights),
      types_{weights.embed.dtype, residual},
      rope_table_(table_arena.take("rope_table", {positions, config.head_dim() / 2, 2})) {
  fill_rope_table(context, rope_table_, config.rope_theta);
}

void Llama::forward_backward(Context& context, const Activations& memory, const Tensor& tokens,
                             const Tensor& targets, const BatchShape& shape, float loss_scale,
                             const LlamaTensors& gradients, const Tensor& losses,
                             const PassHooks& hooks) const {
  const auto before_use = [&](int64_t end) {
    if (hooks.before_use) hooks.before_use(end);
  };
  const auto complete = [&](int64_t begin) {
    if (hooks.gradients_complete) hooks.gradients_complete(begin);
  };
  const ArenaScope scope(memory.arena);
  const int64_t n = shape.tokens(), d_model = config_.d_model, n_layer = config_.n_layer;
  const auto take_activations = [&] {
    return LayerActivations::take(memory.arena, config_, types_, shape);
  };

  // x[i] (N, d) is the input of layer i, x[n_layer] that of the final norm.
  std::vector<Tensor> x;
  std::vector<LayerActivations> kept;
  LayerActivations shared;
  if (memory.recompute) shared = take_activations();
  for (int64_t i = 0; i <= n_layer; ++i) {
    x.push_back(memory.arena.take(fmt::format("layer{}.input", i), {n, d_model}, types_.residual));
    if (i < n_layer) kept.push_back(memory.recompute ? shared : take_activations());
  }

  before_use(end_of_layer(-1));
  embedding(context, x[0], weights_.embed, tokens);
  for (int64_t i = 0; i < n_layer; ++i) {
    const auto at = static_cast<size_t>(i);
    before_use(end_of_layer(i));
    layer(i).forward(context, kept[at], x[at], shape);
    layer(i).output(context, kept[at], x[at + 1]);
  }

  const ResidualGradient d = ResidualGradient::take(memory.arena, types_, {n, d_model});
  before_use(std::numeric_limits<int64_t>::max());
  head_backward(context, x.back(), targets, loss_scale, gradients, d, losses);
  complete(weights_.head_offset);

  for (int64_t i = n_layer; i-- > 0;) {
    const auto at = static_cast<size_t>(i);
    if (memory.recompute) {
      const double flops = context.flops;
      layer(i).forward(context, kept[at], x[at], shape);
      context.flops = flops;  // see Context::flops
    }
    layer(i).backward(context, kept[at], x[at], d, gradients.layers[at], shape);
    complete(weights_.layers[at].offset);
  }
  embedding_backward(context, gradients.embed, d.sum, tokens);
  complete(0);
}

Tensor Llama::final_state(Context& context, Arena& activations, const Tensor& tokens,
                          const BatchShape& shape, const ForwardObserver& observer) const {
  const int64_t n = shape.tokens();
  Tensor x = activations.take("input", {n, config_.d_model}, types_.residual);
  Tensor y = activations.take("output", {n, config_.d_model}, types_.residual);
  const LayerActivations a = LayerActivations::take(activations, config_, types_, shape);
  embedding(context, x, weights_.embed, tokens);
  for (int64_t i = 0; i < config_.n_layer; ++i) {
    layer(i).forward(context, a, x, shape);
    layer(i).output(context, a, y);
    if (observer.layer && !context.planning()) observer.layer(i, x, a);
    std::swap(x, y);
  }
  if (observer.end && !context.planning()) observer.end(x);
  return x;
}

void Llama::evaluate(Context& context, Arena& activations, const Tensor& tokens,
                     const Tensor& targets, const BatchShape& shape, const Tensor& losses,
                     const ForwardObserver& observer) const {
  const ArenaScope scope(activations);
  const Tensor x = final_state(context, activations, tokens, shape, observer);
  head_losses(context, x, targets, losses);
}

}  // namespace dashlm
