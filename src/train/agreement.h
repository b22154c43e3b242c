// Ranks that work on one run must be alike.
#pragma once

#include "config/config.h"
#include "dist/communicator.h"
#include "train/run_config.h"

namespace dashlm {

// Throws a bad_input Error, on every rank, unless all ranks run the same build and give the same
// facts, a JSON object; it names a rank and what differs.
void require_agreement(Communicator& communicator, const Json& facts);

// Throws a bad_input Error, on every rank that does not find it, unless rank 0's `directory` is
// there for all ranks: a shared file system. For rank 0 the directory must be writable.
void require_shared_directory(Communicator& communicator, const std::string& directory);

// Throws a runtime_failure Error, on every rank, unless all ranks hold the same weights, bit by
// bit; it names a rank and a parameter. Reads all of them. `weights` are flat.
void require_same_weights(Communicator& communicator, Device& device, const ParameterLayout& layout,
                          const Tensor& weights);

}  // namespace dashlm
