// A warning about ranks whose threads get in each other's way.
#pragma once

#include "dist/communicator.h"

namespace dashlm {

// Logs the warning on rank 0 if ranks that compute on a node's CPU have more threads than there are
// processors for them. Every rank makes this call.
void warn_of_crowded_threads(Communicator& communicator, const Device& device);

}  // namespace dashlm
