// Settings of optimizers in tests.
#pragma once

#include <string>

#include "config/config.h"
#include "optim/optimizer_config.h"
#include "optim/shampoo/config.h"

namespace dashlm {

// Of a config whose type is "dash" or "shampoo".
inline BlockShampooConfig& block_shampoo(OptimizerConfig& config) {
  return config.get<BlockShampooConfig>();
}
inline const BlockShampooConfig& block_shampoo(const OptimizerConfig& config) {
  return config.get<BlockShampooConfig>();
}

// Sets keys of the "optimizer" section, as JSON: R"({"type": "adamw", "block_size": 4})".
inline void set_keys(OptimizerConfig& config, const std::string& json) {
  read_config(parse_json(json, "test"), "test", [&](Schema& s) { config.describe(s); });
}
inline OptimizerConfig optimizer_config(const std::string& json) {
  OptimizerConfig config;
  set_keys(config, json);
  return config;
}

}  // namespace dashlm
