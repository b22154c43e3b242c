// Times of the optimizer's updates, of one rank or of the slowest of many.
#pragma once

#include <span>
#include <vector>

#include "dist/communicator.h"
#include "optim/optimizer.h"

namespace dashlm {

// One update of one rank; or the mean of several.
struct UpdateMeasure {
  UpdateTimes times;
  double flops = 0;    // FLOPs of the update
  double machine = 0;  // FLOP/s of a large product on the device just before; 0: not measured

  // The update's rate as a share of the machine's.
  double share() const { return 1e3 * flops / times.total() / machine; }
};

// For each update, the measure of the rank that took longest, since in training all others wait for
// it. Every rank gives its own list; all lists have one length. Every rank gets the same result.
std::vector<UpdateMeasure> of_slowest_ranks(Communicator& communicator,
                                            const std::vector<UpdateMeasure>& own);

// f updates in a row, in which every root is refreshed once.
struct UpdateCycle {
  UpdateMeasure mean;  // over its updates
  double peak_ms = 0;  // of its longest update: the one with new roots
};

// The median cycle by mean time, with the median peak. `updates` holds whole cycles, one after the
// other. Throws a runtime_failure Error if it holds no cycle or a part of one.
UpdateCycle median_cycle(std::span<const UpdateMeasure> updates, int64_t frequency);

}  // namespace dashlm
