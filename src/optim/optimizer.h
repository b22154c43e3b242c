// The interface of optimizers: how a step uses one, and what its settings must offer.
//
// An optimizer is a folder with a struct of settings, which a config's "optimizer" section fills,
// and a class derived from Optimizer, which the settings make. One line in registry.cpp
// gives the pair a name; register_optimizer() does so for one that lives outside of this tree.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "ops/core/context.h"
#include "optim/blocks/block_layout.h"

namespace dashlm {

// One update, as the trainer asks for it.
struct UpdateStep {
  int64_t update = 1;  // updates made, counted from 1; skipped steps do not count
  double lr = 0;
  double gradient_scale = 1;  // the factor of clipping
};

// The phases of an update on the device, in ms.
struct UpdateTimes {
  double pack = 0;     // gathering gradient blocks
  double factors = 0;  // statistics of gradients: factors and moments
  double roots = 0;
  double update = 0;  // directions and weights

  double total() const { return pack + factors + roots + update; }
  UpdateTimes& operator+=(const UpdateTimes& other);
};

// Figures about a group of blocks for metrics.jsonl.
struct BlockStatistics {
  std::string group;  // "128x128", "factors 128"
  std::vector<std::pair<std::string, double>> values;
};

// A line of `dashlm plan`.
struct StackPlan {
  std::string group;
  int64_t count = 0;  // blocks or factors
  int64_t calls = 0;  // batched calls that they take
  int64_t state_bytes = 0;
  double products = 0;  // matrix products an update, averaged over updates
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Sets the state at the start of a run. Call it once there is memory.
  virtual void initialize(Context& context) = 0;
  // Updates the weights from the gradients, which stay as they are. On a GPU the work is queued.
  // The host waits only where it needs a result. Throws an Error with ExitCode::diverged when the
  // run cannot go on. When planning, `step` does not matter. The scratch memory taken is the most
  // that any update of a run takes. The FLOPs counted are those of an average update once all kinds
  // of work have begun (Shampoo: from `start` on).
  virtual void update(Context& context, const UpdateStep& step) = 0;
  // All tensors for a checkpoint, by name. The name of a tensor ends with the name of its block, so
  // that a checkpoint does not depend on the ranks or the stacking.
  virtual std::vector<Tensor> state() const = 0;

  // The times of the last update. Waits for the device to end it.
  virtual UpdateTimes times() const { return {}; }
  virtual std::vector<StackPlan> plan() const { return {}; }
  // Whether statistics are due after this update; and the statistics.
  virtual bool statistics_due(int64_t) const { return false; }
  virtual std::vector<BlockStatistics> statistics(Context&) const { return {}; }
};

// What an optimizer is made of: the blocks that it updates, with places in `weights` and
// `gradients`, which are flat f32 and laid out alike; `arena`, from which it takes its state; the
// run's seed.
struct OptimizerParts {
  std::vector<Block> blocks;
  Tensor weights, gradients;
  Arena& arena;
  uint64_t seed = 0;
};

class AnyOptimizerSettings;  // registry.h

// The settings of an optimizer: a struct with default values that
//   describes its keys,
//   says how it wants the parameters cut,
//   says how much work a block is beside others, by which ranks share the blocks,
//   warns, in sentences, of values that do not do in `steps` steps what they seem to,
//   and makes the optimizer.
template <class S>
concept OptimizerSettings = !std::same_as<S, AnyOptimizerSettings> && std::copyable<S> &&
                            requires(S settings, const S& set, Schema& schema, const Block& block,
                                     int64_t steps, OptimizerParts parts) {
  settings.describe(schema);
  { set.cut() } -> std::same_as<BlockCut>;
  { set.cost(block) } -> std::same_as<double>;
  { set.warnings(steps) } -> std::same_as<std::vector<std::string>>;
  { set.make(std::move(parts)) } -> std::same_as<std::unique_ptr<Optimizer>>;
};

}  // namespace dashlm
