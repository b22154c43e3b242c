#include "ops/matmul.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {
namespace {

// Checks that the shapes fit; returns the inner dimension.
int64_t check(const Tensor& c, const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const int rank = c.rank();
  if ((rank != 2 && rank != 3) || a.rank() != rank || b.rank() != rank) {
    fail_runtime("matmul: {}, {} and {} must all have 2 or all have 3 dimensions", c.text(),
                 a.text(), b.text());
  }
  for (const Tensor* x : {&c, &a, &b}) expect("matmul", *x, x->shape);  // the type
  const int row = rank - 2, col = rank - 1;
  const int64_t m = a.dim(options.transpose_a ? col : row);
  const int64_t k = a.dim(options.transpose_a ? row : col);
  const int64_t n = b.dim(options.transpose_b ? row : col);
  const bool stacks_agree = rank == 2 || (a.dim(0) == c.dim(0) && b.dim(0) == c.dim(0));
  if (c.dim(row) != m || c.dim(col) != n || b.dim(options.transpose_b ? col : row) != k ||
      !stacks_agree) {
    fail_runtime("matmul: {} = {}{} x {}{}: the shapes do not fit", c.text(), a.text(),
                 options.transpose_a ? "^T" : "", b.text(), options.transpose_b ? "^T" : "");
  }
  return k;
}

}  // namespace

void matmul(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  const int64_t k = check(c, a, b, options);
  context.flops += 2.0 * static_cast<double>(c.elements()) * static_cast<double>(k);
  DASHLM_DISPATCH(context, matmul, c, nullptr, a, b, options);
}

void matmul_add(Context& context, const Tensor& c, const Tensor& addend, const Tensor& a,
                const Tensor& b, const MatmulOptions& options) {
  const int64_t k = check(c, a, b, options);
  expect("matmul_add", addend, c.shape);
  context.flops += 2.0 * static_cast<double>(c.elements()) * static_cast<double>(k);
  DASHLM_DISPATCH(context, matmul, c, addend.f32(), a, b, options);
}

}  // namespace dashlm
