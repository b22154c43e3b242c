// Configuration of the block-Shampoo optimizers, `dash` and `shampoo`.
//
// Both are one implementation (block_shampoo.h). The type only chooses defaults, so every
// difference between the two is an option named here:
//
//                              dash               shampoo (Distributed Shampoo)
//   stacking                   rank               block
//   factor_bias_correction     false              true
//   start                      1                  frequency
//   decay_vectors              false              true
//   decay_in_momentum          false              true
//   inverse_root.type          newton_db          evd
//   inverse_root.double_ridge  true (if evd)      false
//
// Symbols of docs/reference.md: B block_size, βG beta_g, βLR beta_factors, βgr beta_graft,
// ε_graft graft_eps, f frequency, μ momentum.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/blocks/block_update.h"
#include "optim/inverse_root/inverse_root.h"
#include "optim/optimizer.h"

namespace dashlm {

// The rule that updates vectors (norm weights).
enum class VectorRule {
  adamw,    // the grafting rule's own update, AdamW with grafting "adam"
  shampoo,  // one-sided preconditioning of (B, 1) blocks, as published
};

template <>
struct EnumNames<VectorRule> {
  static constexpr std::pair<VectorRule, const char*> names[] = {
      {VectorRule::adamw, "adamw"},
      {VectorRule::shampoo, "shampoo"},
  };
};

// The precision of operands of matrix products, see ops/core/precision.h. fp16 is left out, since
// it has no number between 0 and 6e-8. Elements of gradients are often smaller, and slightly larger
// ones lose most of their digits.
enum class BlockPrecision { fp32, tf32, bf16 };

template <>
struct EnumNames<BlockPrecision> {
  static constexpr std::pair<BlockPrecision, const char*> names[] = {
      {BlockPrecision::fp32, "fp32"},
      {BlockPrecision::tf32, "tf32"},
      {BlockPrecision::bf16, "bf16"},
  };
};

struct BlockShampooConfig {
  int64_t block_size = 1024;
  Stacking stacking = Stacking::rank;
  bool split_qkv = false;
  BlockPrecision matmul = BlockPrecision::fp32;  // of G·Gᵀ, Gᵀ·G and L̄·M̃·R̄
  InverseRootConfig inverse_root;
  double exponent = 0.25;
  // AdamW by default: a norm of d weights would need factors of 8·B bytes a weight and as many
  // roots as a whole B×B block, for a vector whose entries hardly correlate.
  VectorRule vectors = VectorRule::adamw;
  double vector_exponent = 0.5;
  double beta_g = 0.9;
  double beta_factors = 0.95;
  bool factor_bias_correction = false;
  Grafting grafting = Grafting::adam;
  double beta_graft = 0.95;
  double graft_eps = 1e-8;
  int64_t frequency = 1;
  int64_t start = 1;
  bool stagger = false;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  bool decay_vectors = false;
  bool decay_in_momentum = false;
  int64_t max_failures = 20;
  int64_t statistics_every = 0;

  static BlockShampooConfig shampoo_defaults();

  void describe(Schema& schema);
  BlockCut cut() const { return {block_size, split_qkv}; }
  // r³ + c³ where the block has factors of sizes r and c, its elements where it has none.
  double cost(const Block& block) const;
  std::vector<std::string> warnings(int64_t steps) const;
  std::unique_ptr<Optimizer> make(OptimizerParts parts) const;

  // The first update that is preconditioned.
  int64_t first_update() const { return start < 0 ? frequency : start; }
  MatmulPrecision product_precision() const;
  // Whether these blocks have factors.
  bool preconditions(const Block& block) const {
    return !block.vector || vectors == VectorRule::shampoo;
  }
};

}  // namespace dashlm
