// Reads the factors L and R in a checkpoint of dash or shampoo, for `dashlm bench roots`.
#pragma once

#include <string>
#include <vector>

#include "optim/inverse_root/root_study.h"

namespace dashlm {

struct RecordedFactors {
  std::string folder;     // the checkpoint's
  int64_t step = 0;       // of its run
  double exponent = 0;    // the run's exponent for their roots
  int64_t available = 0;  // factors in the checkpoint
  std::vector<RecordedFactor> factors;
  std::vector<std::string> zero, not_finite;  // names of chosen factors without a root
};

// `path` is a checkpoint, or a run; then its newest sound checkpoint counts. Reads at most `count`
// factors, spread evenly over the parameters, over L and R, and over the blocks of each; they do
// not depend on the number of ranks that wrote them. 0 chooses a number by the size of the factors,
// 32 for n = 128. Factors of vectors are left out, since their exponent is another. The values are
// those stored; a bias correction would multiply all of them by one number.
//
// Throws a bad_input Error where `path` has no checkpoint, where the run's optimizer is neither
// dash nor shampoo, or where no factor is left.
RecordedFactors read_recorded_factors(const std::string& path, int64_t count);

// The number of items to choose from each group; `sizes` has the sizes of the groups. Groups get
// about equally many, `wanted` in all if there are so many.
std::vector<int64_t> equal_shares(const std::vector<int64_t>& sizes, int64_t wanted);

}  // namespace dashlm
