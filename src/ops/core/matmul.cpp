#include "ops/core/matmul.h"

#include "ops/core/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

// Checks that the shapes fit, and counts the operations.
void count_product(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
                   const MatmulOptions& options) {
  const int rank = c.rank();
  if ((rank != 2 && rank != 3) || a.rank() != rank || b.rank() != rank) {
    fail_runtime("matmul: {}, {} and {} must all have 2 or all have 3 dimensions", c.text(),
                 a.text(), b.text());
  }
  expect_f32_or_bf16("matmul", a, a.shape);
  expect("matmul", b, b.shape, a.dtype);
  expect_at_least("matmul", c, c.shape, a.dtype);
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
  context.flops += 2.0 * static_cast<double>(c.elements()) * static_cast<double>(k);
}

}  // namespace

void matmul(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
            const MatmulOptions& options) {
  count_product(context, c, a, b, options);
  DASHLM_BACKEND(context, matmul)(context, c, a, b, options);
}

void matmul_add(Context& context, const Tensor& c, const ConstTensor& addend, const ConstTensor& a,
                const ConstTensor& b, const MatmulOptions& options) {
  expect("matmul_add", addend, c.shape, c.dtype);
  count_product(context, c, a, b, options);
  DASHLM_BACKEND(context, matmul_add)(context, c, addend, a, b, options);
}

}  // namespace dashlm
