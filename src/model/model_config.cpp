#include "model/model_config.h"

#include "base/error.h"

namespace dashlm {

void ModelConfig::describe(Schema& schema) {
  schema.field("n_layer", n_layer, "number of transformer layers", {1, 1024});
  schema.field("d_model", d_model, "width of the residual stream", {1, 1 << 20});
  schema.field("n_head", n_head, "number of query heads", {1, 65536});
  schema.field("n_kv_head", n_kv_head, "number of key and value heads; 0: n_head", {0, 65536});
  schema.field(
      "d_ff", d_ff,
      "width of the feed-forward layer; 0: floor(8/3 d_model) rounded up to a multiple of 256",
      {0, 1 << 22});
  schema.field("vocab_size", vocab_size, "number of different tokens", {1, 1 << 24});
  schema.field("seq_len", seq_len, "tokens in a training sequence", {1, 1 << 24});
  schema.field("tie_embeddings", tie_embeddings, "use the embedding as output projection too");
  schema.field("rope_theta", rope_theta, "base of the rotary position frequencies", {1.0, 1e12});
  schema.field("norm_eps", norm_eps, "added to the mean square in RMSNorm", {0.0, 1.0});
  schema.field("init_std", init_std,
               "standard deviation of initial weights; those that write into the residual stream "
               "get init_std / sqrt(2 n_layer)",
               {0.0, 10.0});
}

void ModelConfig::resolve() {
  if (n_kv_head == 0) n_kv_head = n_head;
  if (d_ff == 0) d_ff = (8 * d_model / 3 + 255) / 256 * 256;
  require(d_model % n_head == 0,
          "model.n_head = {} does not divide model.d_model = {}; choose a head count that does",
          n_head, d_model);
  require(head_dim() % 2 == 0,
          "model.d_model / model.n_head = {} must be even, since RoPE rotates pairs", head_dim());
  require(n_head % n_kv_head == 0, "model.n_kv_head = {} does not divide model.n_head = {}",
          n_kv_head, n_head);
}

}  // namespace dashlm
