#include <cmath>

#include "ops/blocks/backends.h"
#include "ops/stacks/cuda/stack_walk.cuh"

namespace dashlm::cuda {
namespace {

struct Moments {
  float *first, *second;           // (N, r, c)
  float correction1, correction2;  // of their bias
};

__global__ void update_weights(float* weights, const float* gradients, const BlockEntry* table,
                               const float* lr_scale, const Moments moments, const AdamwStep step,
                               int64_t blocks, int64_t elements, int64_t cols) {
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const int64_t offset = table[block].offset, row_stride = table[block].row_stride;
    const float lr = step.lr * lr_scale[block], keep = 1.0f - lr * step.weight_decay;
#pragma unroll 1  // threads in flight are worth more than registers
    for (Walk walk(cols); walk.element < elements; walk.next()) {
      const int64_t at = offset + walk.row * row_stride + walk.col;
      const int64_t in_stack = block * elements + walk.element;
      // All is read before anything is written, so that the loads are in flight together.
      const float g = gradients[at] * step.gradient_scale, weight = weights[at];
      const float m = step.beta1 * moments.first[in_stack] + (1.0f - step.beta1) * g;
      const float v = step.beta2 * moments.second[in_stack] + (1.0f - step.beta2) * g * g;
      moments.first[in_stack] = m;
      moments.second[in_stack] = v;
      const float denominator = sqrtf(v * moments.correction2) + step.eps;
      weights[at] = keep * weight - lr * (m * moments.correction1) / denominator;
    }
  }
}

}  // namespace

void adamw(Context& context, const AdamwTensors& t, const AdamwStep& step) {
  const int64_t blocks = t.moment1.dim(0), cols = t.moment1.dim(2);
  const int64_t elements = t.moment1.dim(1) * cols;
  const auto steps = static_cast<double>(step.step);
  const Moments moments{
      .first = t.moment1.f32(),
      .second = t.moment2.f32(),
      .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta1, steps))),
      .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(step.beta2, steps)))};
  launch(context, update_weights, for_stack(blocks, elements), t.weights.f32(), t.gradients.f32(),
         entries_of(t.table), t.lr_scale.f32(), moments, step, blocks, elements, cols);
}

}  // namespace dashlm::cuda
