#include "optim/ademamix/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "optim/ademamix/ademamix.h"

namespace dashlm {

void AdemamixConfig::describe(Schema& schema) {
  schema.field("beta1", beta1, "decay of the fast average of gradients", {0.0, kBelowOne});
  schema.field("beta2", beta2, "decay of the second moment", {0.0, kBelowOne});
  schema.field("beta3", beta3, "decay of the slow average of gradients", {0.0, kBelowOne});
  schema.field("alpha", alpha, "weight of the slow average beside the fast one", {0.0, 1e3});
  schema.field(
      "alpha_warmup", alpha_warmup,
      "updates over which alpha rises from 0; 0: none; the paper takes all steps of the run", {0});
  schema.field("beta3_warmup", beta3_warmup,
               "updates over which beta3 rises from beta1; 0: none; the paper takes all steps",
               {0});
  schema.field("eps", eps, "added to the root of the second moment", {kTiny, 1.0});
  schema.field("weight_decay", weight_decay, "decoupled weight decay", {0.0, kMostDecay});
  schema.field("decay_vectors", decay_vectors, "decay 1-D parameters too");
  schema.field("block_size", block_size,
               "rows and columns of the blocks that parameters are shared out to ranks in", {1});
}

std::vector<std::string> AdemamixConfig::warnings(int64_t steps) const {
  std::vector<std::string> found;
  for (const auto& [name, warmup] :
       {std::pair("alpha", alpha_warmup), std::pair("beta3", beta3_warmup)}) {
    if (warmup <= steps) continue;
    found.push_back(fmt::format(
        "optimizer.{0}_warmup = {1} is more than train.steps = {2}: {0} does not reach its value",
        name, warmup, steps));
  }
  return found;
}

std::unique_ptr<Optimizer> AdemamixConfig::make(OptimizerParts parts) const {
  return std::make_unique<Ademamix>(*this, std::move(parts));
}

double AdemamixConfig::alpha_at(int64_t update) const {
  if (update >= alpha_warmup) return alpha;
  return alpha * static_cast<double>(update) / static_cast<double>(alpha_warmup);
}

double AdemamixConfig::beta3_at(int64_t update) const {
  if (update >= beta3_warmup || beta1 == 0 || beta3 == 0) return beta3;
  const double part = static_cast<double>(update) / static_cast<double>(beta3_warmup);
  const double start = std::log(beta1), end = std::log(beta3);
  return std::min(std::exp(start * end / ((1 - part) * end + part * start)), beta3);
}

}  // namespace dashlm
