// Ranks that work on one run must be alike.
#pragma once

#include "dist/communicator.h"
#include "train/run_config.h"

namespace dashlm {

// Throws a bad_input Error, on every rank, unless all ranks run the same build with the same
// resolved configuration on the same training data; it names a rank and what differs.
void require_agreement(Communicator& communicator, const RunConfig& config,
                       int64_t data_fingerprint);

// Throws a runtime_failure Error, on every rank, unless all ranks hold the same weights, bit by
// bit; it names a rank and a parameter. Reads all of them. `weights` are flat.
void require_same_weights(Communicator& communicator, Device& device, const ParameterLayout& layout,
                          const Tensor& weights);

}  // namespace dashlm
