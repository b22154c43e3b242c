#include "ops/stacks/stack_linalg.h"

#include "ops/core/dispatch.h"
#include "ops/stacks/backends.h"

namespace dashlm {
namespace {

void expect_stack(const char* operation, const ConstTensor& matrix) {
  if (matrix.rank() != 3 || matrix.dim(1) != matrix.dim(2) || matrix.dtype != DType::f32) {
    fail_runtime("{}: {} must be a stack of square f32 matrices", operation, matrix.text());
  }
}

void expect_scalar(const char* operation, const BlockScalar& scalar, int64_t blocks) {
  if (scalar.per_block) expect(operation, scalar.per_block, {blocks});
}

double cubes(const ConstTensor& matrix) {
  return static_cast<double>(matrix.elements()) * static_cast<double>(matrix.dim(2));
}

}  // namespace

void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options) {
  expect_product("symmetric_matmul", c, a, b, options.precision);
  const Shape shape = c.shape();
  if (options.state) expect("symmetric_matmul", options.state, {shape[0]}, DType::i32);
  if (!c.has_values() && (options.beta != 0.0f || options.diagonal != 0.0f)) {
    fail_runtime("symmetric_matmul: {} has no values to add to", c.rounded.text());
  }
  const bool copies_b = options.inactive == SymmetricMatmul::Inactive::copy_b;
  const SymmetricStack& inactive = copies_b ? b : a;
  if (options.inactive != SymmetricMatmul::Inactive::keep && !inactive.has_values()) {
    fail_runtime("symmetric_matmul: {} has no values to copy", inactive.rounded.text());
  }
  context.flops += 2.0 * static_cast<double>(shape.elements()) * static_cast<double>(shape[2]);
  DASHLM_BACKEND(context, symmetric_matmul)(context, c, a, b, options);
}

void identity_plus(Context& context, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const ConstTensor& matrix) {
  expect_stack("identity_plus", c);
  expect("identity_plus", matrix, c.shape);
  expect_scalar("identity_plus", a, c.dim(0));
  expect_scalar("identity_plus", b, c.dim(0));
  context.compute(DASHLM_BACKEND(context, identity_plus), context, c, a, b, matrix);
}

void add_to_diagonal(Context& context, const Tensor& matrix, const BlockScalar& value) {
  expect_stack("add_to_diagonal", matrix);
  expect_scalar("add_to_diagonal", value, matrix.dim(0));
  context.compute(DASHLM_BACKEND(context, add_to_diagonal), context, matrix, value);
}

void scaled_power(Context& context, const Tensor& out, const ConstTensor& x, const ConstTensor& y,
                  double multiplier, double exponent) {
  expect("scaled_power", out, x.shape);
  expect("scaled_power", x, out.shape);
  if (y) expect("scaled_power", y, out.shape);
  context.compute(DASHLM_BACKEND(context, scaled_power), context, out, x, y, multiplier, exponent);
}

void frobenius_norm(Context& context, const Tensor& out, const ConstTensor& matrix) {
  expect_stack("frobenius_norm", matrix);
  expect("frobenius_norm", out, {matrix.dim(0)});
  DASHLM_BACKEND(context, frobenius_norm)(context, out, matrix);
}

void eigenvalue_bound(Context& context, const Tensor& out, const ConstTensor& matrix) {
  expect_stack("eigenvalue_bound", matrix);
  expect("eigenvalue_bound", out, {matrix.dim(0)});
  DASHLM_BACKEND(context, eigenvalue_bound)(context, out, matrix);
}

void power_iteration(Context& context, const Tensor& out, const ConstTensor& matrix,
                     const PowerIteration& options) {
  expect_stack("power_iteration", matrix);
  expect("power_iteration", out, {matrix.dim(0)});
  if (std::ssize(options.block_ids) != matrix.dim(0)) {
    fail_runtime("power_iteration: {} block ids for {}", options.block_ids.size(), matrix.text());
  }
  context.flops += 2.0 * static_cast<double>(options.pool * options.steps * matrix.elements());
  DASHLM_BACKEND(context, power_iteration)(context, out, matrix, options);
}

void eigh(Context& context, const Tensor& values, const Tensor& vectors, const ConstTensor& matrix,
          const Tensor& state, EighPrecision precision) {
  expect_stack("eigh", matrix);
  expect("eigh", vectors, matrix.shape);
  expect("eigh", values, {matrix.dim(0), matrix.dim(1)});
  expect("eigh", state, {matrix.dim(0)}, DType::i32);
  // Reduction to tridiagonal form 4/3 n³, eigenvectors of it 4/3 n³ or less, back-transformation
  // 2n³: about 4n³ together.
  context.flops += 4.0 * cubes(matrix);
  DASHLM_BACKEND(context, eigh)(context, values, vectors, matrix, state, precision);
}

void from_spectrum(Context& context, const Tensor& c, const ConstTensor& weights,
                   const ConstTensor& vectors, const ConstTensor& state,
                   MatmulPrecision precision) {
  expect_stack("from_spectrum", c);
  expect("from_spectrum", vectors, c.shape);
  expect("from_spectrum", weights, {c.dim(0), c.dim(1)});
  expect("from_spectrum", state, {c.dim(0)}, DType::i32);
  context.flops += 2.0 * cubes(c);
  DASHLM_BACKEND(context, from_spectrum)(context, c, weights, vectors, state, precision);
}

}  // namespace dashlm
