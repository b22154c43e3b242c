#include "ops/stacks/stack_linalg.h"

#include "ops/core/dispatch.h"
#include "ops/stacks/cpu/linalg_kernels.h"

namespace dashlm {
namespace {

void expect_stack(const char* operation, const Tensor& matrix) {
  if (matrix.rank() != 3 || matrix.dim(1) != matrix.dim(2) || matrix.dtype != DType::f32) {
    fail_runtime("{}: {} must be a stack of square f32 matrices", operation, matrix.text());
  }
}

void expect_scalar(const char* operation, const BlockScalar& scalar, int64_t blocks) {
  if (scalar.per_block) expect(operation, *scalar.per_block, {blocks});
}

double cubes(const Tensor& matrix) {
  return static_cast<double>(matrix.elements()) * static_cast<double>(matrix.dim(2));
}

}  // namespace

void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options) {
  expect_product("symmetric_matmul", c, a, b, options.precision);
  const Shape shape = c.shape();
  if (options.state) expect("symmetric_matmul", *options.state, {shape[0]}, DType::i32);
  if (!c.has_values() && (options.beta != 0.0f || options.diagonal != 0.0f)) {
    fail_runtime("symmetric_matmul: {} has no values to add to", c.rounded.text());
  }
  const bool copies_b = options.inactive == SymmetricMatmul::Inactive::copy_b;
  const SymmetricStack& inactive = copies_b ? b : a;
  if (options.inactive != SymmetricMatmul::Inactive::keep && !inactive.has_values()) {
    fail_runtime("symmetric_matmul: {} has no values to copy", inactive.rounded.text());
  }
  context.flops += 2.0 * static_cast<double>(shape.elements()) * static_cast<double>(shape[2]);
  DASHLM_CUDA(context, symmetric_matmul, c, a, b, options);
  const ArenaScope scope(context.scratch);
  const auto rounded = [&](const char* name, const Tensor& operand) {
    return cpu::rounded_operand(context, name, operand, options.precision, options.state);
  };
  const bool same = a.values.data && a.values.data == b.values.data;
  const Tensor rounded_a = rounded("rounded A", a.values);
  const Tensor rounded_b = same ? rounded_a : rounded("rounded B", b.values);
  DASHLM_CPU(context, symmetric_matmul, c.values, rounded_a, rounded_b, inactive.values, options);
}

void identity_plus(Context& context, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const Tensor& matrix) {
  expect_stack("identity_plus", c);
  expect("identity_plus", matrix, c.shape);
  expect_scalar("identity_plus", a, c.dim(0));
  expect_scalar("identity_plus", b, c.dim(0));
  DASHLM_DISPATCH(context, identity_plus, c, a, b, matrix);
}

void add_to_diagonal(Context& context, const Tensor& matrix, const BlockScalar& value) {
  expect_stack("add_to_diagonal", matrix);
  expect_scalar("add_to_diagonal", value, matrix.dim(0));
  DASHLM_DISPATCH(context, add_to_diagonal, matrix, value);
}

void scaled_power(Context& context, const Tensor& out, const Tensor& x, const Tensor* y,
                  double multiplier, double exponent) {
  expect("scaled_power", out, x.shape);
  expect("scaled_power", x, out.shape);
  if (y) expect("scaled_power", *y, out.shape);
  DASHLM_DISPATCH(context, scaled_power, out, x, y, multiplier, exponent);
}

void frobenius_norm(Context& context, const Tensor& out, const Tensor& matrix) {
  expect_stack("frobenius_norm", matrix);
  expect("frobenius_norm", out, {matrix.dim(0)});
  DASHLM_DISPATCH(context, frobenius_norm, out, matrix);
}

void eigenvalue_bound(Context& context, const Tensor& out, const Tensor& matrix) {
  expect_stack("eigenvalue_bound", matrix);
  expect("eigenvalue_bound", out, {matrix.dim(0)});
  DASHLM_DISPATCH(context, eigenvalue_bound, out, matrix);
}

void power_iteration(Context& context, const Tensor& out, const Tensor& matrix,
                     const PowerIteration& options) {
  expect_stack("power_iteration", matrix);
  expect("power_iteration", out, {matrix.dim(0)});
  if (std::ssize(options.block_ids) != matrix.dim(0)) {
    fail_runtime("power_iteration: {} block ids for {}", options.block_ids.size(), matrix.text());
  }
  context.flops += 2.0 * static_cast<double>(options.pool * options.steps * matrix.elements());
  DASHLM_CUDA(context, power_iteration, out, matrix, options);
  const ArenaScope scope(context.scratch);
  const Tensor vectors = context.scratch.take(
      "power iteration", cpu::power_iteration_scratch(matrix.dim(2), options.pool));
  const Tensor rounded = cpu::rounded_operand(context, "rounded A", matrix, options.precision);
  DASHLM_CPU(context, power_iteration, out, rounded, options, vectors);
}

void eigh(Context& context, const Tensor& values, const Tensor& vectors, const Tensor& matrix,
          const Tensor& state, EighPrecision precision) {
  expect_stack("eigh", matrix);
  expect("eigh", vectors, matrix.shape);
  expect("eigh", values, {matrix.dim(0), matrix.dim(1)});
  expect("eigh", state, {matrix.dim(0)}, DType::i32);
  // Reduction to tridiagonal form 4/3 n³, eigenvectors of it 4/3 n³ or less, back-transformation
  // 2n³: about 4n³ together.
  context.flops += 4.0 * cubes(matrix);
  DASHLM_CUDA(context, eigh, values, vectors, matrix, state, precision);
  const ArenaScope scope(context.scratch);
  const Tensor work = context.scratch.take("eigh", cpu::eigh_scratch(matrix.dim(2), precision));
  DASHLM_CPU(context, eigh, values, vectors, matrix, state, precision, work);
}

void from_spectrum(Context& context, const Tensor& c, const Tensor& weights, const Tensor& vectors,
                   const Tensor& state, MatmulPrecision precision) {
  expect_stack("from_spectrum", c);
  expect("from_spectrum", vectors, c.shape);
  expect("from_spectrum", weights, {c.dim(0), c.dim(1)});
  expect("from_spectrum", state, {c.dim(0)}, DType::i32);
  context.flops += 2.0 * cubes(c);
  DASHLM_CUDA(context, from_spectrum, c, weights, vectors, state, precision);
  const ArenaScope scope(context.scratch);
  const Tensor weighted = context.scratch.take("weighted vectors", c.shape);
  const Tensor rounded =
      cpu::rounded_operand(context, "rounded vectors", vectors, precision, &state);
  DASHLM_CPU(context, from_spectrum, c, weights, {vectors, rounded}, state, weighted, precision);
}

}  // namespace dashlm
