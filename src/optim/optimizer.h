// The interface of optimizers, and their configuration.
#pragma once

#include <memory>
#include <vector>

#include "config/schema.h"
#include "model/parameters.h"
#include "ops/context.h"

namespace dashlm {

enum class OptimizerType { adamw };

template <>
struct EnumNames<OptimizerType> {
  static constexpr std::pair<OptimizerType, const char*> names[] = {
      {OptimizerType::adamw, "adamw"},
  };
};

struct AdamwConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;

  void describe(Schema& schema);
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::adamw;
  AdamwConfig adamw;

  // The keys of the chosen type only: a key of another type is an unknown key.
  void describe(Schema& schema);
};

// One update, as the trainer asks for it.
struct UpdateStep {
  int64_t update = 1;  // updates made, counted from 1; skipped steps do not count
  double lr = 0;
  double gradient_scale = 1;  // what clipping multiplies gradients by
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Updates the weights from the gradients, which stay as they are.
  virtual void update(Context& context, const UpdateStep& step) = 0;
  // Everything a checkpoint must hold, by name.
  virtual std::vector<Tensor> state() const = 0;
};

// `weights` and `gradients` are flat, as laid out by `layout`; state is taken from `arena`.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          const ParameterLayout& layout, const Tensor& weights,
                                          const Tensor& gradients, Arena& arena);

}  // namespace dashlm
