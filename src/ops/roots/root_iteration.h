// Steps that the inverse roots of src/optim/inverse_root share: bringing blocks to a common size,
// testing an iteration for convergence block by block, storing what succeeded, and reporting on it.
// State bits and invariances are those of stack_linalg.h.
#pragma once

#include "ops/stacks/stack_linalg.h"

namespace dashlm {

// out = factors / unit, where unit (S) is the power of two with max(max |A|, least) / unit in
// [1, 2). So squares neither overflow nor vanish, whatever the magnitude of a block, and the
// division is exact. state (S): kActive, kZero, or kFailed for a block that is not finite.
// out and factors (S, n, n).
void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least);

struct NewtonTest {
  const Tensor& state;     // (S) i32
  const Tensor& steps;     // (S) i32, steps made
  const Tensor& residual;  // (S) f32, max |M - I| that the last step began with
  float tolerance = 0;
  bool first = false;  // the first step of an iteration may begin far from I
};

// The correction of a Newton step, N = a·I + b·M, and the test that goes with it. For every active
// block the residual is max |M - I|. Below the tolerance the block is done; above 2 after the first
// step, or not finite, it has failed; otherwise it makes this step. N may be M.
//
// Why 2: from the first step on the eigenvalues of M lie in [0, 1] in exact arithmetic, so elements
// of M - I are at most 1. An element above 2 means an eigenvalue outside [-1, 3], from where these
// iterations do not come back.
void newton_correction(Context& context, const Tensor& n, const Tensor& m, float a, float b,
                       const NewtonTest& test);

// M = A·B (in `precision`) and the correction N of M with its test, in one: as symmetric_matmul()
// and newton_correction() would do one after the other. M may be null if nobody wants it; if not, N
// may be A or B. The copies of M and N, if they have any, are written too. Blocks of M and N that
// were not active before become undefined.
struct NewtonProduct {
  const SymmetricStack& n;
  const SymmetricStack* m;
  const SymmetricStack& a;
  const SymmetricStack& b;
  MatmulPrecision precision;
};
void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test);

// Blocks that are neither zero nor failed become active again for another iteration; those that had
// not finished the one before become late.
void restart_blocks(Context& context, const Tensor& state);

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

// weights (S, n) from values (S, n) of normalised blocks: those of the root of the block itself.
// largest (S) = max |v| in units of the normalised block; condition (S) = max h / min h
// of those that count.
void spectral_root(Context& context, const Tensor& weights, const Tensor& largest,
                   const Tensor& condition, const Tensor& values, const Tensor& unit,
                   const Tensor& state, const SpectralRoot& options);

// Active blocks whose `value` (S) is above `limit`, or NaN, have failed.
void fail_above(Context& context, const Tensor& state, const Tensor& value, float limit);

// roots = multiplier (S) · result for every block whose result is finite; a zero block gets zero.
// Blocks that failed, before or here, keep their roots. `multiplier` may be null: 1.
void store_roots(Context& context, const Tensor& roots, const Tensor& result,
                 const Tensor* multiplier, const Tensor& state);

enum class RootStatus : int32_t {
  ok,
  out_of_steps,  // the set steps did not reach the tolerance: normal, the root is stored
  failed,        // not finite, LAPACK error, or diverged: the previous root was kept
};

// What became of the roots of a stack, on the device, so that the host need not wait to know it.
struct RootReports {
  Tensor status;     // (S) i32: a RootStatus
  Tensor steps;      // (S) i32: Newton steps made (p = 4 by NDB: of both roots together)
  Tensor failures;   // (S) i32: how many times in a row the block failed, up to now
  Tensor residual;   // (S): max |M - I| that the last Newton step began with
  Tensor scale;      // (S): s, the matrix was divided by it; EVD: lambda_max; 0 for a zero block
  Tensor condition;  // (S): EVD: of the matrix with its ridge; otherwise 0, unknown

  static RootReports take(Arena& arena, int64_t count);
  RootReports rows(int64_t begin, int64_t count) const;
  void clear(Context& context) const;  // nothing was computed, nothing failed
};

// Completes the reports of a method whose steps, residual, scale (in units of the normalised block)
// and condition are there: the status, from the state that store_roots() left; the failures in a
// row, one more or none; the scale, times unit (S); scale and condition 0 for zero blocks. A block
// still active at the end of an iteration ran out of steps, else (not `iterative`) it is done.
void report_roots(Context& context, const RootReports& reports, const Tensor& state,
                  const Tensor& unit, bool iterative);

}  // namespace dashlm
