#include "ops/blocks/backends.h"
#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

template <bool kSquare>
__global__ void average_elements(float* __restrict__ average, const float* __restrict__ x,
                                 int64_t count, float beta, float weight) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const float term = kSquare ? weight * x[i] * x[i] : weight * x[i];
    average[i] = beta * average[i] + term;
  }
}

template <bool kSquare>
void average_in(Context& context, const Tensor& average, const ConstTensor& x, float beta,
                float weight) {
  launch(context, average_elements<kSquare>, for_elements(x.elements()), average.f32(), x.f32(),
         x.elements(), beta, weight);
}

}  // namespace

void update_average(Context& context, const Tensor& average, const ConstTensor& x, float beta,
                    float weight) {
  average_in<false>(context, average, x, beta, weight);
}

void update_square_average(Context& context, const Tensor& average, const ConstTensor& x,
                           float beta, float weight) {
  average_in<true>(context, average, x, beta, weight);
}

}  // namespace dashlm::cuda
