// The interface of optimizers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/parameters.h"
#include "ops/core/context.h"
#include "optim/blocks/block_layout.h"
#include "optim/optimizer_config.h"

namespace dashlm {

// One update, as the trainer asks for it.
struct UpdateStep {
  int64_t update = 1;  // updates made, counted from 1; skipped steps do not count
  double lr = 0;
  double gradient_scale = 1;  // what clipping multiplies gradients by
};

// Where an update's time on the device went, in ms.
struct UpdateTimes {
  double pack = 0;     // gathering gradient blocks
  double factors = 0;  // statistics of gradients: factors and moments
  double roots = 0;
  double update = 0;  // directions and weights

  double total() const { return pack + factors + roots + update; }
};

// Figures about a group of blocks, for metrics.jsonl.
struct BlockStatistics {
  std::string group;  // "128x128", "factors 128"
  std::vector<std::pair<std::string, double>> values;
};

// A line of `dashlm plan`.
struct StackPlan {
  std::string group;
  int64_t count = 0;  // blocks or factors
  int64_t calls = 0;  // batched calls they go through
  int64_t state_bytes = 0;
  double products = 0;  // matrix products an update, averaged over updates
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Sets the state that a run starts with. To be called once there is memory.
  virtual void initialize(Context& context) = 0;
  // Updates the weights from the gradients, which stay as they are. On a GPU the work is queued,
  // and waited for only where something must be known of it. Throws an Error with
  // ExitCode::diverged when the run cannot go on.
  // When planning, `step` does not matter: the scratch memory taken is the most that any update of
  // a run takes, and the FLOPs counted are those of an average update once all kinds of work have
  // begun (Shampoo: from `start` on).
  virtual void update(Context& context, const UpdateStep& step) = 0;
  // Everything a checkpoint must hold, by name.
  virtual std::vector<Tensor> state() const = 0;

  // Of the last update; waits for the device to end it.
  virtual UpdateTimes times() const { return {}; }
  virtual std::vector<StackPlan> plan() const { return {}; }
  // Whether statistics are due after this update; and they themselves.
  virtual bool statistics_due(int64_t) const { return false; }
  virtual std::vector<BlockStatistics> statistics(Context&) const { return {}; }
};

// The blocks that this optimizer's parameters are cut into, of all ranks, frozen ones included.
std::vector<Block> optimizer_blocks(const OptimizerConfig& config, const ParameterLayout& layout);
// The relative work that a block is, by which blocks are shared out to ranks: r³ + c³ where it has
// factors of sizes r and c, its elements where it has none.
double block_cost(const OptimizerConfig& config, const Block& block);

// An optimizer of these blocks (frozen ones are left alone), which are all or some of
// optimizer_blocks(), with places in `weights` and `gradients`; both are flat and laid out alike.
// State is taken from `arena`. `seed` is that of the run.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<Block> blocks,
                                          const Tensor& weights, const Tensor& gradients,
                                          Arena& arena, uint64_t seed);

}  // namespace dashlm
