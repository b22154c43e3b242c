// From eigenvalues to those of an inverse root.
#pragma once

#include "ops/stacks/stack_linalg.h"

namespace dashlm {

// How eigenvalues v of a block, the least of them m, become those of its inverse root: h(v)^(-e),
// or 0 where h(v) <= 0 or v < rank_rtol · max |v|. h with ridge eps (docs/inverse_roots.md):
//   shift         v + eps - min(m, 0)
//   abs           |v|
//   abs_plus_eps  |v| + eps
//   relu          max(v, 0) + eps
enum class EigenvalueHeuristic { shift, abs, abs_plus_eps, relu };

template <>
struct EnumNames<EigenvalueHeuristic> {
  static constexpr std::pair<EigenvalueHeuristic, const char*> names[] = {
      {EigenvalueHeuristic::shift, "shift"},
      {EigenvalueHeuristic::abs, "abs"},
      {EigenvalueHeuristic::abs_plus_eps, "abs_plus_eps"},
      {EigenvalueHeuristic::relu, "relu"},
  };
};

struct SpectralRoot {
  double exponent = 0.25;  // e
  double ridge = 0.0;
  bool relative_ridge = false;  // eps = ridge · largest |v| instead of ridge
  bool double_ridge = false;    // v is that of A + eps·I
  EigenvalueHeuristic heuristic = EigenvalueHeuristic::shift;
  double rank_rtol = 0.0;  // 0: every eigenvalue counts, negative ones too
};

struct SpectralRootTensors {
  Tensor weights;      // (S, n): eigenvalues of the root of the block itself
  Tensor largest;      // (S): max |v| in units of the normalised block
  Tensor condition;    // (S): max h / min h of the eigenvalues that count
  ConstTensor values;  // (S, n): v, of normalised blocks
  ConstTensor unit;    // (S): of normalize_blocks()
  ConstTensor state;   // (S) i32
};

void spectral_root(Context& context, const SpectralRootTensors& t, const SpectralRoot& options);

}  // namespace dashlm
