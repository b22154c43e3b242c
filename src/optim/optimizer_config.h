// The "optimizer" section of a config: a type with its own keys.
#pragma once

#include <string>
#include <vector>

#include "optim/shampoo/config.h"

namespace dashlm {

enum class OptimizerType { adamw, shampoo, dash };

template <>
struct EnumNames<OptimizerType> {
  static constexpr std::pair<OptimizerType, const char*> names[] = {
      {OptimizerType::adamw, "adamw"},
      {OptimizerType::shampoo, "shampoo"},
      {OptimizerType::dash, "dash"},
  };
};

struct AdamwConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;
  int64_t block_size = 1024;

  void describe(Schema& schema);
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::adamw;
  std::vector<std::string> lr_scale;
  AdamwConfig adamw;
  DashConfig dash;  // of dash and shampoo

  OptimizerConfig() = default;
  explicit OptimizerConfig(OptimizerType type);  // that type's defaults

  // The keys of the chosen type only: a key of another type is an unknown key.
  void describe(Schema& schema);
};

// The learning-rate multiplier of each parameter: the last rule "pattern=factor" whose pattern
// (with
// * and ?) matches its name, else 1. 0 freezes a parameter.
std::vector<double> lr_multipliers(const ParameterLayout& layout,
                                   const std::vector<std::string>& rules);

}  // namespace dashlm
