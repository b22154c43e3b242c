#include "model/hf_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dashlm {
namespace {

// Calls move(our row, stored row) for every row.
template <class Move>
void for_rows(const HfTensor& tensor, const Move& move) {
  const int64_t rows = tensor.shape[0], head = tensor.head_dim;
  for (int64_t row = 0; row < rows; ++row) {
    if (head == 0) {
      move(row, row);
    } else {
      const int64_t first = row / head * head, within = row % head;
      move(row, first + within / 2 + within % 2 * (head / 2));
    }
  }
}

int64_t row_width(const HfTensor& tensor) {
  return tensor.shape.elements() / tensor.shape[0];
}

// Hugging Face's name of a parameter of a layer that is stored whole.
std::string hf_name(const std::string& name) {
  static const std::pair<const char*, const char*> names[] = {
      {"attn_norm", "input_layernorm"},
      {"attn_out", "self_attn.o_proj"},
      {"gate", "mlp.gate_proj"},
      {"mlp_norm", "post_attention_layernorm"},
      {"up", "mlp.up_proj"},
      {"down", "mlp.down_proj"},
  };
  if (name == "embed") return "model.embed_tokens.weight";
  if (name == "final_norm") return "model.norm.weight";
  if (name == "lm_head") return "lm_head.weight";
  const size_t dot = name.find('.');
  const std::string layer = "model.layers." + name.substr(5, dot - 5) + ".";
  for (const auto& [ours, theirs] : names) {
    if (name.substr(dot + 1) == ours) return layer + theirs + ".weight";
  }
  fail_runtime("parameter {} has no Hugging Face name", name);
}

void add_qkv(const ModelConfig& config, const Parameter& parameter,
             std::vector<HfTensor>& tensors) {
  const size_t dot = parameter.name.find('.');
  const std::string prefix = "model.layers." + parameter.name.substr(5, dot - 5) + ".self_attn.";
  const int64_t head = config.head_dim(), width = config.d_model;
  int64_t offset = parameter.offset;
  const auto add = [&](const char* name, int64_t heads, int64_t reordered) {
    const Shape shape{heads * head, width};
    tensors.push_back({prefix + name + ".weight", shape, offset, reordered});
    offset += shape.elements();
  };
  add("q_proj", config.n_head, head);
  add("k_proj", config.n_kv_head, head);
  add("v_proj", config.n_kv_head, 0);
}

}  // namespace

void HfTensor::encode(const void* ours, void* stored, int64_t size) const {
  const int64_t bytes = row_width(*this) * size;
  for_rows(*this, [&](int64_t our_row, int64_t stored_row) {
    std::copy_n(static_cast<const char*>(ours) + our_row * bytes, bytes,
                static_cast<char*>(stored) + stored_row * bytes);
  });
}

void HfTensor::decode(const float* stored, float* ours) const {
  const int64_t width = row_width(*this);
  for_rows(*this, [&](int64_t our_row, int64_t stored_row) {
    std::copy_n(stored + stored_row * width, width, ours + our_row * width);
  });
}

std::vector<HfTensor> hf_tensors(const ModelConfig& config, const ParameterLayout& layout) {
  std::vector<HfTensor> tensors;
  for (const Parameter& parameter : layout.parameters()) {
    if (parameter.name.ends_with(".qkv")) {
      add_qkv(config, parameter, tensors);
    } else {
      tensors.push_back({hf_name(parameter.name), parameter.shape, parameter.offset, 0});
    }
  }
  return tensors;
}

std::string hf_config_text(const ModelConfig& config, DType type, int32_t bos, int32_t eos) {
  // Without an explicit null transformers takes 1 and 2, which may be ordinary tokens.
  using Json = nlohmann::ordered_json;
  const auto token = [](int32_t id) { return id < 0 ? Json() : Json(id); };
  const Json json = {
      {"architectures", {"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"hidden_act", "silu"},
      {"hidden_size", config.d_model},
      {"intermediate_size", config.d_ff},
      {"num_hidden_layers", config.n_layer},
      {"num_attention_heads", config.n_head},
      {"num_key_value_heads", config.n_kv_head},
      {"max_position_embeddings", config.seq_len},
      {"vocab_size", config.vocab_size},
      {"rms_norm_eps", config.norm_eps},
      {"rope_theta", config.rope_theta},
      {"tie_word_embeddings", config.tie_embeddings},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"initializer_range", config.init_std},
      {"bos_token_id", token(bos)},
      {"eos_token_id", token(eos)},
      {"torch_dtype", type == DType::bf16 ? "bfloat16" : "float32"},
  };
  return json.dump(2) + "\n";
}

}  // namespace dashlm
