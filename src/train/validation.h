// The loss on validation data, over all ranks.
#pragma once

#include <functional>
#include <optional>

#include "train/engine.h"

namespace dashlm {

// Adds up `loss_of` over this rank's batches, and then over all ranks. Returns nothing once a stop
// signal has reached any rank; all ranks then leave together, at the next batch.
std::optional<LossSum> evaluate_all(Communicator& communicator, const SequentialBatches& batches,
                                    const std::function<LossSum(const Batch&)>& loss_of);

}  // namespace dashlm
