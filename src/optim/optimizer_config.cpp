#include "optim/optimizer_config.h"

#include <fnmatch.h>

#include <cerrno>
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
               "counting; 0 freezes; `dashlm plan --parameters` lists the names");
  if (type == OptimizerType::adamw) {
    adamw.describe(schema);
  } else {
    dash.describe(schema);
  }
}

namespace {

// What follows the last "=" of "pattern=factor".
double factor_of(const std::string& rule) {
  constexpr double kMost = 1e6;  // far beyond use; finite in fp32 with any train.lr
  const size_t equals = rule.rfind('=');
  const std::string text = equals == std::string::npos ? "" : rule.substr(equals + 1);
  char* end = nullptr;
  errno = 0;
  const double factor = std::strtod(text.c_str(), &end);
  require(!text.empty() && *end == 0,
          "optimizer.lr_scale: \"{}\" is not of the form pattern=factor", rule);
  // 1e-400 would be read as 0, which freezes. NaN is at least nothing.
  require(errno == 0 && factor >= 0 && factor <= kMost,
          "optimizer.lr_scale: the factor of \"{}\" must be at least 0 and at most {}", rule,
          kMost);
  return factor;
}

}  // namespace

std::vector<double> lr_multipliers(const ParameterLayout& layout,
                                   const std::vector<std::string>& rules) {
  std::vector<double> multipliers(layout.parameters().size(), 1.0);
  for (const std::string& rule : rules) {
    const size_t equals = rule.rfind('=');
    const std::string pattern = rule.substr(0, equals);
    const double factor = factor_of(rule);
    bool matched = false;
    for (size_t i = 0; i < multipliers.size(); ++i) {
      if (fnmatch(pattern.c_str(), layout.parameters()[i].name.c_str(), 0) != 0) continue;
      multipliers[i] = factor;
      matched = true;
    }
    require(
        matched,
        "optimizer.lr_scale: no parameter is called \"{}\"; `dashlm plan --parameters` lists the "
        "names, such as {}",
        pattern, layout.parameters()[1].name);
  }
  return multipliers;
}

}  // namespace dashlm
