// Settings of AdamW.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace dashlm {

struct AdamwConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;
  int64_t block_size = 1024;

  void describe(Schema& schema);
  BlockCut cut() const { return {.block_size = block_size}; }
  double cost(const Block& block) const { return static_cast<double>(block.place.elements()); }
  std::vector<std::string> warnings(int64_t) const { return {}; }
  std::unique_ptr<Optimizer> make(OptimizerParts parts) const;
};

}  // namespace dashlm
