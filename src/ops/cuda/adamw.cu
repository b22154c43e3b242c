#include "ops/adamw.h"

#include <algorithm>
#include <cmath>

#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

struct Moments {
  float *first, *second;           // (N, r, c)
  float correction1, correction2;  // of their bias
};

// Blocks of the stack lie along the grid's y, a block's elements along x. Row and column advance by
// those of the step, so that the loop itself divides nothing.
__global__ void update_weights(float* weights, const float* gradients, const int64_t* places,
                               const float* lr_scale, const Moments moments, const AdamwStep step,
                               int64_t blocks, int64_t elements, int64_t cols) {
  const int64_t step_rows = element_step() / cols, step_cols = element_step() % cols;
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const int64_t offset = places[2 * block], row_stride = places[2 * block + 1];
    const float lr = step.lr * lr_scale[block], keep = 1.0f - lr * step.weight_decay;
    int64_t row = first_element() / cols, col = first_element() % cols;
#pragma unroll 1  // threads in flight are worth more than registers
    for (int64_t i = first_element(); i < elements; i += element_step()) {
      const int64_t at = offset + row * row_stride + col, in_stack = block * elements + i;
      // All is read before anything is written, so that the loads are in flight together.
      const float g = gradients[at] * step.gradient_scale, weight = weights[at];
      const float m = step.beta1 * moments.first[in_stack] + (1.0f - step.beta1) * g;
      const float v = step.beta2 * moments.second[in_stack] + (1.0f - step.beta2) * g * g;
      moments.first[in_stack] = m;
      moments.second[in_stack] = v;
      const float denominator = sqrtf(v * moments.correction2) + step.eps;
      weights[at] = keep * weight - lr * (m * moments.correction1) / denominator;
      row += step_rows;
      col += step_cols;
      if (col >= cols) {
        col -= cols;
        ++row;
      }
    }
  }
}

}  // namespace

void adamw(Context& context, const Tensor& weights, const Tensor& gradients, const Tensor& places,
           const Tensor& lr_scale, const Tensor& moment1, const Tensor& moment2,
           const AdamwStep& step) {
  if (context.planning()) return;
  const int64_t blocks = moment1.dim(0), cols = moment1.dim(2), elements = moment1.dim(1) * cols;
  const auto t = static_cast<double>(step.step);
  const Moments moments{.first = moment1.f32(),
                        .second = moment2.f32(),
                        .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta1, t))),
                        .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta2, t)))};
  constexpr int64_t kPerThread = 8, kMostAlongY = 65535;
  const dim3 grid(static_cast<unsigned>(divide_up(elements, kThreads * kPerThread)),
                  static_cast<unsigned>(std::min(blocks, kMostAlongY)));
  launch(stream_of(context), update_weights, {grid, dim3(kThreads)}, weights.f32(), gradients.f32(),
         places.as<int64_t>(), lr_scale.f32(), moments, step, blocks, elements, cols);
}

}  // namespace dashlm::cuda
