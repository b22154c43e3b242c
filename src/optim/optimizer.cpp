#include "optim/optimizer.h"

#include "optim/adamw.h"
#include "optim/dash.h"

namespace dashlm {

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          const ParameterLayout& layout, const Tensor& weights,
                                          const Tensor& gradients, Arena& arena, uint64_t seed) {
  const std::vector<double> lr_scale = lr_multipliers(layout, config.lr_scale);
  if (config.type == OptimizerType::adamw) {
    return std::make_unique<Adamw>(config.adamw, layout, lr_scale, weights, gradients, arena);
  }
  return std::make_unique<Dash>(config.dash, layout, lr_scale, weights, gradients, arena, seed);
}

}  // namespace dashlm
