#include "optim/optimizer.h"

#include "optim/adamw.h"

namespace dashlm {

void OptimizerConfig::describe(Schema& schema) {
  schema.field("type", type, "the optimizer");
  adamw.describe(schema);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          const ParameterLayout& layout, const Tensor& weights,
                                          const Tensor& gradients, Arena& arena) {
  return std::make_unique<Adamw>(config.adamw, layout, weights, gradients, arena);
}

}  // namespace dashlm
