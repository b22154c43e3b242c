// How long updates of the optimizer take, of one rank or of the slowest of many.
#pragma once

#include <span>
#include <vector>

#include "dist/communicator.h"
#include "optim/optimizer.h"

namespace dashlm {

// One update of one rank; or the mean of several.
struct UpdateMeasure {
  UpdateTimes times;
  double flops = 0;    // that it took
  double machine = 0;  // FLOP/s of a large product on the device just before; 0: not measured

  // Its rate as a share of the machine's.
  double share() const { return 1e3 * flops / times.total() / machine; }
};

// The same updates as the rank made them that took longest for each: in training all others wait
// for it. Every rank gives its own list, all lists are of one length, and every rank gets the same.
std::vector<UpdateMeasure> of_slowest_ranks(Communicator& communicator,
                                            const std::vector<UpdateMeasure>& own);

// f updates in a row, in which every root is refreshed once.
struct UpdateCycle {
  UpdateMeasure mean;  // over its updates
  double peak_ms = 0;  // of its longest update: the one with new roots
};

// Of `updates`, one whole cycle after the other, the median by mean time and the median peak.
// Throws a runtime_failure Error if they are no whole number of cycles, or none.
UpdateCycle median_cycle(std::span<const UpdateMeasure> updates, int64_t frequency);

}  // namespace dashlm
