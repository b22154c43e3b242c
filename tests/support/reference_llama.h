// The whole model in float64: losses as a function of the flat parameters. Its gradient is taken by
// finite differences, which in float64 are exact to about ten digits.
#pragma once

#include <functional>

#include "model/llama.h"
#include "model/parameters.h"
#include "support/reference.h"

namespace dashlm::testing::reference {

class ReferenceLlama {
 public:
  ReferenceLlama(const ModelConfig& config, const Doubles& flat)
      : config_(config), layout_(llama_parameters(config)), flat_(flat) {}

  // Sees the residual stream at the input of each layer and after the last one, and the inputs of
  // the products with these weights.
  using Observer =
      std::function<void(int64_t layer, const std::string& input_of, const Doubles& x)>;

  // (N, V)
  Doubles logits(
      const Ints& tokens, const BatchShape& shape,
      const Observer& see = [](int64_t, const std::string&, const Doubles&) {}) const {
    const int64_t n = shape.tokens(), d = config_.d_model, f = config_.d_ff;
    Doubles x = embedding(get("embed"), tokens, d);
    for (int64_t i = 0; i < config_.n_layer; ++i) {
      const std::string layer = fmt::format("layer{}.", i);
      const auto project = [&](const Doubles& in, const std::string& name, int64_t to,
                               int64_t from) {
        return matmul(in, get(layer + name), n, to, from, false, true);
      };
      see(i, "residual", x);
      Doubles norm = rms_norm(x, get(layer + "attn_norm"), config_.norm_eps);
      see(i, "qkv", norm);
      Doubles qkv =
          rope(project(norm, "qkv", config_.qkv_width(), d), shape.length, config_.qkv_heads(),
               config_.head_dim(), config_.n_head + config_.n_kv_head, config_.rope_theta);
      const Heads heads{shape.sequences, shape.length, config_.n_head, config_.n_kv_head,
                        config_.head_dim()};
      const Doubles attended = attention(qkv, heads).out;
      see(i, "attn_out", attended);
      add(x, project(attended, "attn_out", d, d));
      norm = rms_norm(x, get(layer + "mlp_norm"), config_.norm_eps);
      see(i, "gate_up", norm);
      const Doubles gate = project(norm, "gate", f, d), up = project(norm, "up", f, d);
      Doubles hidden(gate.size());
      for (size_t j = 0; j < gate.size(); ++j) hidden[j] = gate[j] * sigmoid(gate[j]) * up[j];
      see(i, "down", hidden);
      add(x, project(hidden, "down", d, f));
    }
    see(config_.n_layer, "residual", x);
    return matmul(rms_norm(x, get("final_norm"), config_.norm_eps),
                  get(config_.tie_embeddings ? "embed" : "lm_head"), n, config_.vocab_size, d,
                  false, true);
  }

  Doubles losses(const Ints& tokens, const Ints& targets, const BatchShape& shape) const {
    return cross_entropy(logits(tokens, shape), targets, 1).losses;
  }

 private:
  static void add(Doubles& x, const Doubles& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  Doubles get(const std::string& name) const {
    for (const Parameter& p : layout_.parameters()) {
      if (p.name == name) {
        return Doubles(flat_.begin() + p.offset, flat_.begin() + p.offset + p.elements());
      }
    }
    fail_runtime("the reference model has no parameter {}", name);
  }

  ModelConfig config_;
  ParameterLayout layout_;
  const Doubles& flat_;
};

}  // namespace dashlm::testing::reference
