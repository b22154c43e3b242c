#include "optim/shampoo/config.h"

#include <algorithm>
#include <cmath>

#include "optim/blocks/block_state.h"
#include "optim/shampoo/block_shampoo.h"

namespace dashlm {

BlockShampooConfig BlockShampooConfig::shampoo_defaults() {
  BlockShampooConfig config;
  config.stacking = Stacking::block;
  config.inverse_root.method = EvdConfig{.double_ridge = false};
  config.factor_bias_correction = true;
  config.start = -1;
  config.decay_vectors = true;
  config.decay_in_momentum = true;
  return config;
}

MatmulPrecision BlockShampooConfig::product_precision() const {
  switch (matmul) {
    case BlockPrecision::fp32:
      return MatmulPrecision::fp32;
    case BlockPrecision::tf32:
      return MatmulPrecision::tf32;
    case BlockPrecision::bf16:
      return MatmulPrecision::bf16;
  }
  return MatmulPrecision::fp32;
}

double BlockShampooConfig::cost(const Block& block) const {
  const auto cube = [](int64_t n) { return std::pow(static_cast<double>(n), 3); };
  if (!preconditions(block)) return static_cast<double>(block.place.elements());
  return cube(block.place.rows) + (block.vector ? 0.0 : cube(block.place.cols));
}

std::unique_ptr<Optimizer> BlockShampooConfig::make(OptimizerParts parts) const {
  return std::make_unique<BlockShampoo>(*this, std::move(parts));
}

namespace {

std::string start_warning(const BlockShampooConfig& config, int64_t steps) {
  if (config.start == 0) return "optimizer.start = 0 is the same as 1, as updates count from 1";
  if (config.first_update() <= steps) return "";
  return fmt::format(
      "no update is preconditioned: the first would be {} (optimizer.{}), but train.steps = {}; "
      "set a smaller optimizer.start",
      config.first_update(), config.start < 0 ? "start = -1, that is frequency" : "start", steps);
}

}  // namespace

std::vector<std::string> BlockShampooConfig::warnings(int64_t steps) const {
  std::vector<std::string> found = {start_warning(*this, steps), inverse_root.warning()};
  if (momentum > 0) {
    found.push_back(fmt::format(
        "optimizer.momentum = {} multiplies the effective learning rate by {:.3g}: its velocity "
        "adds up about so many updates; train.lr should be as much lower than without",
        momentum, 1 / (1 - momentum)));
  }
  std::erase(found, "");
  return found;
}

void BlockShampooConfig::describe(Schema& s) {
  s.field("block_size", block_size, "B: matrices are cut into blocks of B x B", {1, 65536});
  s.field("stacking", stacking,
          "blocks in one batched call: one, those of a layer's matrix, or all; the weights are the "
          "same");
  s.field("split_qkv", split_qkv, "cut queries, keys and values apart before cutting blocks");
  s.field(
      "matmul", matmul,
      "precision of the operands of G G^T, G^T G and L^(-e) G R^(-e); what is published as fp32 "
      "is tf32");
  s.field("exponent", exponent,
          "e in L^(-e) G R^(-e); 0.25 as published, up to 0.5 may train better", {1e-3, 4.0});
  s.field("vectors", vectors, "1-D parameters: adamw, or shampoo for one-sided preconditioning");
  s.field("vector_exponent", vector_exponent, "e in L^(-e) g, for vectors", {1e-3, 4.0});
  s.field("beta_g", beta_g, "decay of the averaged gradient; 0: the gradient itself",
          {0.0, kBelowOne});
  s.field("beta_factors", beta_factors, "decay of the factors L and R; 1: plain sums", {0.0, 1.0});
  s.field("factor_bias_correction", factor_bias_correction,
          "divide the factors by 1 - beta_factors^t before taking roots");
  s.field("grafting", grafting, "the rule that gives each block's update its size");
  s.field("beta_graft", beta_graft, "adam grafting: decay of the second moment", {0.0, kBelowOne});
  s.field("graft_eps", graft_eps, "added to the root of the second moment", {kTiny, 1.0});
  s.field("frequency", frequency, "f: updates from one refresh of the roots to the next", {1});
  s.field("start", start,
          "first update that is preconditioned, before it the grafting rule is used alone; -1: "
          "frequency",
          {-1});
  s.field("stagger", stagger,
          "refresh a part of the blocks at each update instead of all of them every f updates");
  s.field("momentum", momentum,
          "mu: decay of the velocity, which multiplies the effective learning rate by 1 / (1 - "
          "mu); 0: none",
          {0.0, kBelowOne});
  s.field("nesterov", nesterov, "with momentum: step along P + mu M instead of M");
  s.field("weight_decay", weight_decay, "decoupled weight decay", {0.0, kMostDecay});
  s.field("decay_vectors", decay_vectors, "decay 1-D parameters too");
  s.field("decay_in_momentum", decay_in_momentum,
          "with momentum: the velocity takes up the decay, P + wd W, as Distributed Shampoo does; "
          "otherwise weights shrink by 1 - lr wd beside it");
  s.field("max_failures", max_failures,
          "a block whose root fails keeps the one before; so many failures in a row end the run",
          {1});
  s.field("statistics_every", statistics_every,
          "updates from one line of block statistics in metrics.jsonl to the next; 0: none", {0});
  s.section("inverse_root", inverse_root, "how roots of the factors are computed");
}

}  // namespace dashlm
