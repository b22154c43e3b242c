// Products of matrices through gemm.h; those that are symmetric are in symmetric_matmul.cu.
#include <algorithm>
#include <limits>
#include <optional>

#include "ops/core/cuda/operations.h"
#include "ops/core/peak.h"
#include "ops/stacks/cuda/stack_operands.cuh"

namespace dashlm::cuda {
namespace {

// In which products of these operands, as they are, are taken.
MatmulPrecision precision_of(const Tensor& a, const Tensor& b) {
  if (a.dtype == b.dtype && a.dtype == DType::f32) return MatmulPrecision::fp32;
  if (a.dtype == b.dtype && a.dtype == DType::bf16) return MatmulPrecision::bf16;
  fail_runtime("matmul: {} and {} must both be f32 or both bf16", a.text(), b.text());
}

// --- The peak

__global__ void fill_varied(float* x, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u;
    x[i] = static_cast<float>(mixed >> 8) * 0x1p-24f - 0.5f;
  }
}

}  // namespace

void matmul(Context& context, const Tensor& c, const Tensor* addend, const Tensor& a,
            const Tensor& b, const MatmulOptions& options) {
  if (context.planning() || c.elements() == 0) return;
  const int row = c.rank() - 2, col = c.rank() - 1;
  const int64_t k = a.dim(options.transpose_a ? row : col);
  CudaDevice& device = device_of(context);
  if (k == 0) {  // a sum without terms, which cuBLASLt does not know
    if (!addend) return device.clear(c.data, c.bytes());
    if (addend->data != c.data) device.copy(c.data, addend->data, c.bytes());
    return;
  }
  const int64_t stack = c.rank() == 3 ? c.dim(0) : 1;
  gemm(device, precision_of(a, b), {stack, c.dim(row), c.dim(col), k},
       {options.alpha, addend ? 1.0f : 0.0f}, operand_of(a, options.transpose_a),
       operand_of(b, options.transpose_b),
       {.c = c.data,
        .row_stride = c.dim(col),
        .stride = c.dim(row) * c.dim(col),
        .addend = addend ? addend->data : nullptr,
        .type = c.dtype});
}

Tensor take_rounded(Context& context, const char* name, const Shape& shape,
                    MatmulPrecision precision) {
  // Rows of whole 16 bytes: so tensor cores can load them whatever n.
  const bool halves = precision != MatmulPrecision::tf32;
  const int64_t per_load = halves ? 8 : 4;
  const DType type = precision == MatmulPrecision::fp16 ? DType::f16
                     : halves                           ? DType::bf16
                                                        : DType::f32;
  const int64_t stride = divide_up(shape[2], per_load) * per_load;
  return context.scratch.take(name, {shape[0], shape[1], stride}, type);
}

void multiply_blocks(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                     MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand left(context, "rounded A", a, precision);
  const StackOperand right(context, "rounded B", b, precision);
  if (context.planning() || c.elements() == 0) return;
  left.fill(context);
  right.fill(context);
  gemm(device_of(context), precision, {c.dim(0), c.dim(1), c.dim(2), a.dim(2)}, {}, left.operand(),
       right.operand(), {.c = c.f32(), .row_stride = c.dim(2), .stride = c.dim(1) * c.dim(2)});
}

double measure_matmul_peak(Device& device, MatmulPrecision precision, int repeats) {
  constexpr int64_t kSize = 4096;
  Arena scratch(device, "measuring the peak");
  Context context{device, scratch};
  Tensor matrices;
  std::optional<StackOperand> a, b;
  const auto take = [&] {
    matrices = scratch.take("matrices", {3, kSize, kSize});
    a.emplace(context, "rounded A", matrices.rows(0, 1), precision);
    b.emplace(context, "rounded B", matrices.rows(1, 1), precision);
  };
  take();
  scratch.commit();
  take();
  // Varied numbers: of constant ones a GPU makes more a second than of any that matter.
  launch(stream_of(context), fill_varied, for_elements(matrices.elements()), matrices.f32(),
         matrices.elements());
  a->fill(context);
  b->fill(context);
  const auto product = [&] {
    gemm(device_of(context), precision, {1, kSize, kSize, kSize}, {}, a->operand(), b->operand(),
         {.c = matrices.rows(2, 1).f32(), .row_stride = kSize, .stride = kSize * kSize});
  };
  product();  // warms up the clock, and chooses the algorithm
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const TimeMark start = device.mark();
    product();
    best = std::min(best, device.mark().milliseconds_since(start));
  }
  return 2e3 * kSize * kSize * kSize / best;
}

}  // namespace dashlm::cuda
