// The solvers of the published code, as our configurations.
#pragma once

#include <string>

#include "golden/recording.h"
#include "optim/inverse_root/inverse_root.h"

namespace dashlm::golden {

// evd, cn, ndb or cbshv, with Frobenius scaling and the ridges of the recordings.
InverseRootConfig recorded_method(const std::string& name);
// How far results may be from those of a recording, relative to their norm. `deficient`: some
// block's factors lack full rank, so that the result depends on how rounding fills the null space.
double tolerance_of(const std::string& method, bool deficient);

}  // namespace dashlm::golden
