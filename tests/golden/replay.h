// Replays recorded runs of the published implementation (tests/golden/*.safetensors) by their
// metadata and compares.
#pragma once

#include <string>
#include <vector>

namespace dashlm::golden {

// One comparison: relative error in the Frobenius norm, or of a number.
struct Comparison {
  std::string what;
  double error = 0;
  double tolerance = 0;
  bool ok() const { return error <= tolerance; }  // false for NaN
};

struct Replay {
  std::string kind;
  std::vector<Comparison> comparisons;

  bool ok() const;
  double max_error() const;
};

// Throws a bad_input Error for a file of unknown kind.
Replay replay_file(const std::string& path);

}  // namespace dashlm::golden
