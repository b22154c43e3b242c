#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>

#include "ops/core/backends.h"
#include "ops/core/cuda/gemm.h"
#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// Varied numbers: of constant ones a GPU makes more a second than of any that matter.
template <class T>
__global__ void fill_varied(T* x, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u;
    x[i] = static_cast<T>(static_cast<float>(mixed >> 8) * 0x1p-24f - 0.5f);
  }
}

template <class T>
void fill(const Context& context, const Tensor& x) {
  launch(context, fill_varied<T>, for_elements(x.elements()), static_cast<T*>(x.data),
         x.elements());
}

void fill(const Context& context, const Tensor& x) {
  if (x.dtype == DType::f16) return fill<__half>(context, x);
  if (x.dtype == DType::bf16) return fill<__nv_bfloat16>(context, x);
  fill<float>(context, x);
}

}  // namespace

double measure_matmul_peak(Device& device, MatmulPrecision precision, int repeats) {
  constexpr int64_t kSize = 4096;
  Arena scratch(device, "measuring the peak");
  Context context{device, scratch};
  Tensor operands, result;
  const auto take = [&] {
    operands = scratch.take("operands", {2, kSize, kSize}, operand_type(precision));
    result = scratch.take("product", {kSize, kSize});
  };
  take();
  scratch.commit();
  take();
  fill(context, operands);
  const auto product = [&] {
    gemm(device_of(context), precision, {1, kSize, kSize, kSize}, {},
         operand_of(operands.rows(0, 1)), operand_of(operands.rows(1, 1)),
         {.c = result.f32(), .row_stride = kSize, .stride = kSize * kSize});
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
