#include "optim/adamw/config.h"

#include "optim/adamw/adamw.h"

namespace dashlm {

void AdamwConfig::describe(Schema& schema) {
  schema.field("beta1", beta1, "decay of the first moment", {0.0, kBelowOne});
  schema.field("beta2", beta2, "decay of the second moment", {0.0, kBelowOne});
  schema.field("eps", eps, "added to the root of the second moment", {kTiny, 1.0});
  schema.field("weight_decay", weight_decay, "decoupled weight decay, on matrices only",
               {0.0, kMostDecay});
  schema.field("block_size", block_size,
               "rows and columns of the blocks that parameters are shared out to ranks in", {1});
}

std::unique_ptr<Optimizer> AdamwConfig::make(OptimizerParts parts) const {
  return std::make_unique<Adamw>(*this, std::move(parts));
}

}  // namespace dashlm
