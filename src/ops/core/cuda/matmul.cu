// Products of matrices through gemm.h.
#include "ops/core/backends.h"
#include "ops/core/cuda/gemm.h"
#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// In which products of these operands, as they are, are taken.
MatmulPrecision precision_of(const ConstTensor& a, const ConstTensor& b) {
  if (a.dtype == b.dtype && a.dtype == DType::f32) return MatmulPrecision::fp32;
  if (a.dtype == b.dtype && a.dtype == DType::bf16) return MatmulPrecision::bf16;
  fail_runtime("matmul: {} and {} must both be f32 or both bf16", a.text(), b.text());
}

// `addend` may be null, or the memory of C.
void multiply(CudaDevice& device, const Tensor& c, const void* addend, const ConstTensor& a,
              const ConstTensor& b, const MatmulOptions& options) {
  if (c.elements() == 0) return;
  const int row = c.rank() - 2, col = c.rank() - 1;
  const int64_t k = a.dim(options.transpose_a ? row : col);
  if (k == 0) {  // a sum without terms, which cuBLASLt does not know
    if (!addend) return device.clear(c.data, c.bytes());
    if (addend != c.data) device.copy(c.data, addend, c.bytes());
    return;
  }
  const int64_t stack = c.rank() == 3 ? c.dim(0) : 1;
  gemm(device, precision_of(a, b), {stack, c.dim(row), c.dim(col), k},
       {options.alpha, addend ? 1.0f : 0.0f}, operand_of(a, options.transpose_a),
       operand_of(b, options.transpose_b),
       {.c = c.data,
        .row_stride = c.dim(col),
        .stride = c.dim(row) * c.dim(col),
        .addend = addend,
        .type = c.dtype});
}

}  // namespace

void matmul(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
            const MatmulOptions& options) {
  context.compute(multiply, device_of(context), c, nullptr, a, b, options);
}

void matmul_add(Context& context, const Tensor& c, const ConstTensor& addend, const ConstTensor& a,
                const ConstTensor& b, const MatmulOptions& options) {
  context.compute(multiply, device_of(context), c, addend.data, a, b, options);
}

}  // namespace dashlm::cuda
