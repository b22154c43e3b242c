#include "model/parameters.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device/cpu/parallel.h"

namespace dashlm {

ParameterLayout llama_parameters(const ModelConfig& config) {
  const int64_t d = config.d_model, f = config.d_ff, v = config.vocab_size;
  const int64_t query = config.n_head * config.head_dim(),
                key = config.n_kv_head * config.head_dim();
  const double std = config.init_std;
  const double residual_std = std / std::sqrt(2.0 * static_cast<double>(config.n_layer));
  std::vector<Parameter> all;
  const auto add = [&](const std::string& name, Shape shape, double init_std,
                       std::vector<RowGroup> row_groups = {}) {
    all.push_back({name, shape, 0, init_std, std::move(row_groups)});
  };
  add("embed", {v, d}, std);
  for (int64_t i = 0; i < config.n_layer; ++i) {
    const std::string layer = fmt::format("layer{}.", i);
    add(layer + "attn_norm", {d}, 0);
    add(layer + "qkv", {config.qkv_width(), d}, std, {{".q", query}, {".k", key}, {".v", key}});
    add(layer + "attn_out", {d, d}, residual_std);
    add(layer + "mlp_norm", {d}, 0);
    add(layer + "gate", {f, d}, std);
    add(layer + "up", {f, d}, std);
    add(layer + "down", {d, f}, residual_std);
  }
  add("final_norm", {d}, 0);
  if (!config.tie_embeddings) add("lm_head", {v, d}, std);
  return ParameterLayout(std::move(all));
}

LlamaTensors llama_tensors(const ParameterLayout& layout, const ModelConfig& config,
                           const Tensor& flat) {
  LlamaTensors tensors;
  auto next = layout.parameters().begin();
  const auto take = [&] { return ParameterLayout::view(flat, *next++); };
  tensors.embed = take();
  for (int64_t i = 0; i < config.n_layer; ++i) {
    LayerTensors layer;
    layer.offset = next->offset;
    layer.attn_norm = take();
    layer.qkv = take();
    layer.attn_out = take();
    layer.mlp_norm = take();
    const Parameter& gate = *next++;
    const Parameter& up = *next++;
    layer.gate_up = flat.rows(gate.offset, gate.elements() + up.elements())
                        .view({2 * config.d_ff, config.d_model});
    layer.gate_up.name = gate.name + "+up";
    layer.down = take();
    tensors.layers.push_back(std::move(layer));
  }
  tensors.head_offset = next->offset;
  tensors.final_norm = take();
  tensors.lm_head = config.tie_embeddings ? tensors.embed : take();
  return tensors;
}

void initialize_parameter(const Parameter& parameter, size_t index, uint64_t seed, int64_t first,
                          std::span<float> host) {
  if (!parameter.is_matrix()) {
    std::fill(host.begin(), host.end(), 1.0f);
    return;
  }
  const CounterRandom random(seed, Purpose::weight_init, index);
  constexpr int64_t kGrain = 1 << 14;  // elements, some 0.4 ms
  const auto count = static_cast<int64_t>(host.size());
  cpu::parallel_ranges(count, kGrain, [&](int64_t begin, int64_t end) {
    random.fill_normal({host.data() + begin, host.data() + end}, parameter.init_std,
                       static_cast<uint64_t>(first + begin));
  });
}

}  // namespace dashlm
