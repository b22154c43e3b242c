// Inverse roots A^(-e) of stacks of symmetric positive semi-definite matrices: the heart of every
// Shampoo. One file a method; docs/inverse_roots.md compares them.
//
// Each block of a stack is computed by itself: its result depends on neither its neighbours, nor
// its place in the stack, nor the number of threads. A block that fails keeps its previous root.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/core/context.h"
#include "ops/roots/root_reports.h"
#include "optim/inverse_root/config.h"

namespace dashlm {

struct RootRequest {
  const Tensor& factors;   // (S, n, n) f32, symmetric; read only
  const Tensor& roots;     // (S, n, n) f32; the previous roots in, the new ones out
  double exponent = 0.25;  // e > 0: roots = (factor_scale · factors)^(-e)
  double factor_scale = 1.0;
  // (S): numbers that tell the blocks of a run apart, the same on every rank. The start vectors of
  // power iterations follow from (seed, step, id), so L and R of a block have different ids.
  std::span<const int64_t> block_ids;
  uint64_t seed = 0;
  int64_t step = 0;
};

class InverseRoot {
 public:
  virtual ~InverseRoot() = default;

  // Throws a bad_input Error when this method cannot compute the exponent. The error names the
  // methods that can.
  virtual void check_exponent(double exponent) const = 0;

  // The most matrix products (2n³ floating-point operations each) that a block takes. EVD returns
  // the equivalent of one decomposition on a CPU.
  virtual double products(double exponent) const = 0;

  // Computes the roots and fills `reports` (S). Failures continue the counts in `reports`. The root
  // of a zero block is zero. The stack is worked off in batches, so scratch memory is bounded
  // however large S is.
  virtual void compute(Context& context, const RootRequest& request,
                       const RootReports& reports) = 0;
};

std::unique_ptr<InverseRoot> make_inverse_root(const InverseRootConfig& config);

}  // namespace dashlm
