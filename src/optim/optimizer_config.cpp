#include "optim/optimizer_config.h"

#include <fnmatch.h>

#include <cstdlib>

#include "base/error.h"

namespace dashlm {

OptimizerConfig::OptimizerConfig(OptimizerType chosen) : type(chosen) {
  if (type == OptimizerType::shampoo) dash = DashConfig::shampoo_defaults();
}

void AdamwConfig::describe(Schema& schema) {
  schema.field("beta1", beta1, "decay of the first moment", {0.0, kBelowOne});
  schema.field("beta2", beta2, "decay of the second moment", {0.0, kBelowOne});
  schema.field("eps", eps, "added to the root of the second moment", {kTiny, 1.0});
  schema.field("weight_decay", weight_decay, "decoupled weight decay, on matrices only",
               {0.0, 1e3});
  schema.field("block_size", block_size,
               "rows and columns of the blocks that parameters are shared out to ranks in", {1});
}

void OptimizerConfig::describe(Schema& schema) {
  OptimizerType chosen = type;
  schema.field("type", chosen, "the optimizer");
  if (chosen != type) *this = OptimizerConfig(chosen);
  schema.field("lr_scale", lr_scale,
               "learning-rate multipliers by parameter name, as \"pattern=factor\", the last match "
               "counting; 0 freezes");
  if (type == OptimizerType::adamw) {
    adamw.describe(schema);
  } else {
    dash.describe(schema);
  }
}

std::vector<double> lr_multipliers(const ParameterLayout& layout,
                                   const std::vector<std::string>& rules) {
  std::vector<double> multipliers(layout.parameters().size(), 1.0);
  for (const std::string& rule : rules) {
    const size_t equals = rule.rfind('=');
    const std::string pattern = rule.substr(0, equals);
    char* end = nullptr;
    const double factor =
        equals == std::string::npos ? -1 : std::strtod(rule.c_str() + equals + 1, &end);
    require(
        equals != std::string::npos && *end == 0 && end != rule.c_str() + equals + 1 && factor >= 0,
        "optimizer.lr_scale: \"{}\" is not of the form pattern=factor with factor >= 0", rule);
    bool matched = false;
    for (size_t i = 0; i < multipliers.size(); ++i) {
      if (fnmatch(pattern.c_str(), layout.parameters()[i].name.c_str(), 0) != 0) continue;
      multipliers[i] = factor;
      matched = true;
    }
    require(matched, "optimizer.lr_scale: no parameter is called \"{}\"; names are such as {}",
            pattern, layout.parameters()[1].name);
  }
  return multipliers;
}

}  // namespace dashlm
