// The Kronecker factors L and R that a checkpoint of dash or shampoo holds, for `dashlm bench
// roots`.
#pragma once

#include <string>
#include <vector>

#include "optim/inverse_root/root_study.h"

namespace dashlm {

struct RecordedFactors {
  std::string folder;     // the checkpoint's
  int64_t step = 0;       // of its run
  double exponent = 0;    // with which the run takes roots of them
  int64_t available = 0;  // factors in the checkpoint
  std::vector<RecordedFactor> factors;
  std::vector<std::string> zero, not_finite;  // chosen as well, but without a root: their names
};

// `path`: a checkpoint, or a run, whose newest sound one counts. At most `count` factors, spread
// evenly over the parameters, over L and R, and over the blocks of each; the same ones whatever the
// number of ranks was. 0: by their size, 32 of order 128. Factors of vectors, whose exponent is
// another, are left out. As they are stored: a bias correction is a common multiple.
//
// Throws a bad_input Error where `path` has no checkpoint, it is not of dash or shampoo, or no
// factor is left.
RecordedFactors read_recorded_factors(const std::string& path, int64_t count);

// How many of each of several groups are chosen, `sizes` being how many there are: about equally
// many, `wanted` in all if there are so many.
std::vector<int64_t> equal_shares(const std::vector<int64_t>& sizes, int64_t wanted);

}  // namespace dashlm
