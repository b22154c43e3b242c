// The "optimizer" section of a config: a type with its own keys, and groups of parameters that are
// treated in another way.
//
//   "optimizer": {
//     "type": "dash", "weight_decay": 0.1,
//     "groups": [
//       {"match": "embed", "lr_scale": 0.5},
//       {"match": ["lm_head", "*norm"], "optimizer": "adamw", "beta2": 0.99}
//     ]
//   }
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "optim/registry.h"
#include "tensor/parameter_layout.h"

namespace dashlm {

// An optimizer by name, with its settings.
struct OptimizerChoice {
  std::string type;
  AnyOptimizerSettings settings;

  explicit OptimizerChoice(const std::string& name)
      : type(name), settings(default_settings(name)) {}

  // `key` names the type; the settings' own keys stand beside it, so any other is an unknown key.
  // Another type than before begins with its defaults.
  void describe(Schema& schema, const char* key, const char* help);
};

// The parameters whose names match one of the patterns (with * and ?), and what is done with them.
struct ParameterGroup {
  std::vector<std::string> match;
  double lr_scale = 1;  // multiplies the learning rate; 0 freezes: no state, no update
  OptimizerChoice optimizer;

  void describe(Schema& schema);
};

struct OptimizerConfig {
  OptimizerChoice main;
  std::vector<ParameterGroup> groups;  // a parameter belongs to the last one that matches it

  explicit OptimizerConfig(const std::string& type = optimizer_types().front()) : main(type) {}

  const std::string& type() const { return main.type; }
  // The settings of the main optimizer: null, or a broken invariant, if it is of another kind.
  template <class S>
  const S* as() const {
    return main.settings.as<S>();
  }
  template <class S>
  const S& get() const {
    const S* settings = as<S>();
    if (!settings) fail_runtime("optimizer.type = \"{}\" has no such settings", main.type);
    return *settings;
  }
  template <class S>
  S& get() {
    return const_cast<S&>(std::as_const(*this).template get<S>());
  }

  void describe(Schema& schema);
  // Of all optimizers, in a run of so many steps.
  std::vector<std::string> warnings(int64_t steps) const;

  // What a block is updated by.
  const OptimizerChoice& optimizer_of(const Block& block) const {
    return block.group < 0 ? main : groups[static_cast<size_t>(block.group)].optimizer;
  }
};

// The learning-rate multiplier of each parameter: that of its group, or 1. Throws an input Error
// where a pattern matches no parameter.
std::vector<double> lr_multipliers(const OptimizerConfig& config, const ParameterLayout& layout);

// The blocks that the parameters are cut into, of all ranks, frozen ones included.
std::vector<Block> optimizer_blocks(const OptimizerConfig& config, const ParameterLayout& layout);
// The relative work that a block is, by which blocks are shared out to ranks.
double block_cost(const OptimizerConfig& config, const Block& block);
// An optimizer of all or some of optimizer_blocks(); frozen ones are left alone.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, OptimizerParts parts);

}  // namespace dashlm
