// The communicator of a test program that mpirun started: every rank runs the same tests.
#pragma once

#include "dist/communicator.h"

namespace dashlm::testing {

Communicator& world();

}  // namespace dashlm::testing
