// Lion (Chen et al. 2023, arXiv 2302.06675): a step of one size for every weight, along the sign of
// an average of gradients.
//
// Per element, with g the clipped gradient:
//   w ← w - lr·(sign(β₁·m + (1-β₁)·g) + wd·w)
//   m ← β₂·m + (1-β₂)·g
// Weight decay applies to matrices only. State: 4 bytes a parameter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

// The keys that stand beside "type": "lion" in a config.
struct LionConfig {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
  int64_t block_size = 1024;

  void describe(dashlm::Schema& schema);
  // Ranks share out the parameters in blocks; to Lion their size does not matter.
  dashlm::BlockCut cut() const { return {.block_size = block_size}; }
  double cost(const dashlm::Block& block) const {
    return static_cast<double>(block.place.elements());
  }
  std::vector<std::string> warnings(int64_t) const { return {}; }
  std::unique_ptr<dashlm::Optimizer> make(dashlm::OptimizerParts parts) const;
};
