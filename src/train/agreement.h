// Checks that the ranks of a run agree.
#pragma once

#include "config/config.h"
#include "dist/communicator.h"
#include "train/run_config.h"

namespace dashlm {

// Throws a bad_input Error, on every rank, unless all ranks run the same build and give the same
// facts, a JSON object. The error names a rank and the first difference.
void require_agreement(Communicator& communicator, const Json& facts);

// Checks that all ranks see rank 0's `directory`, on a shared file system. Throws a bad_input Error
// on every rank that does not find it. The directory must be writable for rank 0.
void require_shared_directory(Communicator& communicator, const std::string& directory);

// Throws a runtime_failure Error, on every rank, unless all ranks hold the same weights, bit by
// bit. The error names a rank and a parameter. Reads all weights; they are flat.
void require_same_weights(Communicator& communicator, Device& device, const ParameterLayout& layout,
                          const Tensor& weights);

}  // namespace dashlm
