// The base of all methods: batches, normalisation, failures and reports. A method adds solve().
#pragma once

#include <optional>

#include "ops/roots/newton_step.h"
#include "ops/roots/root_iteration.h"
#include "ops/roots/root_reports.h"
#include "ops/roots/spectral_root.h"
#include "optim/inverse_root/inverse_root.h"

namespace dashlm {

// A part of a stack that a method computes. `steps` to `condition` become part of the reports. The
// other tensors are scratch.
struct RootBatch {
  Tensor matrix;     // (S, n, n): the factors, normalised; to be used up
  Tensor unit;       // (S): factors = unit · matrix
  Tensor state;      // (S) i32
  Tensor steps;      // (S) i32, at first 0 as are the next three
  Tensor residual;   // (S)
  Tensor scale;      // (S): s in units of the normalised matrix; EVD: the largest eigenvalue
  Tensor condition;  // (S)
  double exponent;   // e
  std::span<const int64_t> block_ids;
  uint64_t seed;
  int64_t step;
};

// The result of a method, in scratch.
struct RootResult {
  Tensor matrix;  // (S, n, n)
  // roots = factor · (scale · unit)^(-e) · matrix; without a factor the matrix is the root itself.
  std::optional<double> factor;
};

class StackRoot : public InverseRoot {
 public:
  void compute(Context& context, const RootRequest& request, const RootReports& reports) final;

 protected:
  // Called once before all solve() of a stack.
  virtual void prepare(double /*exponent*/) {}
  // Computes the roots of a batch. Sets `state` and `scale`, and also `steps`, `residual` and
  // `condition` if the method has them. Several threads may call it for different batches.
  virtual RootResult solve(Context& context, RootBatch& batch) const = 0;
  // Whether a block that is still active at the end ran out of steps.
  virtual bool is_iterative() const { return true; }
  // The ridge, if absolute; it counts when blocks are normalised.
  virtual double absolute_ridge() const { return 0.0; }

 private:
  void compute_batch(Context& context, const RootRequest& request, const RootReports& reports);
};

}  // namespace dashlm
