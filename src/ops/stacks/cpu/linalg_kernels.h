// The CPU backend's side of stack_linalg.h and root_iteration.h. Arguments were checked.
#pragma once

#include <functional>
#include <vector>

#include "ops/roots/root_iteration.h"
#include "ops/stacks/stack_linalg.h"

namespace dashlm::cpu {

// How a stack is worked off: batches of `blocks`, by `workers` threads that take one each, or by
// all threads together, one batch after the other.
struct BatchPlan {
  int64_t blocks = 1;
  int64_t workers = 1;
  bool together = false;
};
BatchPlan plan_batches(int64_t blocks, int64_t n);
// Calls body() such that operations in it use as many threads as they would in run_batches().
void run_as_worker(const BatchPlan& plan, const std::function<void()>& body);
void run_batches(const BatchPlan& plan, int64_t batches,
                 const std::function<void(int64_t worker, int64_t batch)>& body);
// Threads that an operation called from here will run on.
int64_t threads_of_operation();

// `operand` as products in `precision` take it: itself for fp32, else a rounded copy in scratch of
// the blocks that are active. Null state: all are.
Tensor rounded_operand(Context& context, const char* name, const Tensor& operand,
                       MatmulPrecision precision, const Tensor* state = nullptr);
// A and B were rounded; `inactive` is what blocks that are not active get, unless they keep theirs.
void symmetric_matmul(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& inactive,
                      const SymmetricMatmul& options);
void identity_plus(const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const Tensor& matrix);
void add_to_diagonal(const Tensor& matrix, const BlockScalar& value);
void scaled_power(const Tensor& out, const Tensor& x, const Tensor* y, double multiplier,
                  double exponent);

void frobenius_norm(const Tensor& out, const Tensor& matrix);
void eigenvalue_bound(const Tensor& out, const Tensor& matrix);
// A was rounded, vectors are yet to be. Two sets of vectors per thread.
Shape power_iteration_scratch(int64_t n, int64_t pool);
void power_iteration(const Tensor& out, const Tensor& matrix, const PowerIteration& options,
                     const Tensor& work);

// A matrix and LAPACK's workspace per thread.
Shape eigh_scratch(int64_t n, EighPrecision precision);
void eigh(const Tensor& values, const Tensor& vectors, const Tensor& matrix, const Tensor& state,
          EighPrecision precision, const Tensor& work);
// In double precision: a (n, n) becomes the eigenvectors, in rows, of values (n), ascending. False
// when LAPACK reports an error.
bool eigh_in_place(std::vector<double>& a, std::vector<double>& values);
// Eigenvectors as they are, and as products take them.
struct Eigenvectors {
  const Tensor &exact, &rounded;
};
void from_spectrum(const Tensor& c, const Tensor& weights, const Eigenvectors& vectors,
                   const Tensor& state, const Tensor& weighted, MatmulPrecision precision);

void normalize_blocks(const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least);
void newton_correction(const Tensor& n, const Tensor& m, float a, float b, const NewtonTest& test);
void restart_blocks(const Tensor& state);
void spectral_root(const Tensor& weights, const Tensor& largest, const Tensor& condition,
                   const Tensor& values, const Tensor& unit, const Tensor& state,
                   const SpectralRoot& options);
void fail_above(const Tensor& state, const Tensor& value, float limit);
void store_roots(const Tensor& roots, const Tensor& result, const Tensor* multiplier,
                 const Tensor& state);
void report_roots(const RootReports& reports, const Tensor& state, const Tensor& unit,
                  bool iterative);

}  // namespace dashlm::cpu
