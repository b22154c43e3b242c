// Products of row-major matrices and of stacks of them. No other place calls cuBLASLt.
#pragma once

#include <compare>
#include <cstdint>

#include "device/cuda/cuda_device.h"
#include "ops/core/precision.h"
#include "tensor/tensor.h"

namespace dashlm::cuda {

// A stack of row-major matrices: `row_stride` elements from one row to the next, `stride` from one
// matrix to the next. Elements are float for fp32 and tf32, or else __half or __nv_bfloat16. Tensor
// cores may drop the low bits of tf32 operands in any way, so callers round them.
struct GemmOperand {
  const void* data;
  int64_t row_stride;
  int64_t stride;
  bool transposed = false;
};

// A matrix, or a stack of them, without gaps.
GemmOperand operand_of(const ConstTensor& x, bool transposed = false);

// The type of the elements of operands.
DType operand_type(MatmulPrecision precision);

struct GemmShape {
  int64_t stack, m, n, k;
  auto operator<=>(const GemmShape&) const = default;
};

struct GemmScale {
  float alpha = 1.0f;
  float beta = 0.0f;  // with 0, the addend is not read
};

// C and the addend: stacks of (m, n) that lie alike in memory, of one type: f32, or the operands'
// type if that is bf16 or f16. The addend may be C.
struct GemmResult {
  void* c;
  int64_t row_stride;
  int64_t stride;
  const void* addend = nullptr;
  DType type = DType::f32;
};

// C = alpha · op(A) · op(B) + beta · addend for op(A) (m, k), op(B) (k, n), and C and addend (m,
// n). Sums in fp32, rounded once. C must not overlap A or B.
//
// cuBLASLt's choice for a shape is remembered until the process ends.
void gemm(CudaDevice& device, MatmulPrecision precision, const GemmShape& shape,
          const GemmScale& scale, const GemmOperand& a, const GemmOperand& b,
          const GemmResult& result);

}  // namespace dashlm::cuda
