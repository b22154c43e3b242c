#include <cmath>

#include "ops/core/cuda/support.cuh"
#include "ops/roots/backends.h"

namespace dashlm::cuda {
namespace {

__device__ double with_ridge(double v, double least, double eps, EigenvalueHeuristic heuristic) {
  switch (heuristic) {
    case EigenvalueHeuristic::shift:
      return v + eps - (least < 0.0 ? least : 0.0);
    case EigenvalueHeuristic::abs:
      return fabs(v);
    case EigenvalueHeuristic::abs_plus_eps:
      return fabs(v) + eps;
    case EigenvalueHeuristic::relu:
      return (v < 0.0 ? 0.0 : v) + eps;
  }
  return v;
}

// A thread block for each block of the stack.
__global__ void spectral_root_kernel(int64_t blocks, int64_t n, float* weights, float* largest,
                                     float* condition, const float* values, const float* unit,
                                     const int32_t* state, SpectralRoot options) {
  for (int64_t s = blockIdx.x; s < blocks; s += gridDim.x) {
    const bool active = state[s] & kActive;
    if (!active) {
      if (threadIdx.x == 0) largest[s] = condition[s] = 0.0f;
      continue;
    }
    const float* v = values + s * n;
    const double one = unit[s];
    const double most = fmax(fabs(v[0]), fabs(v[n - 1]));  // they ascend
    const double eps = options.relative_ridge ? options.ridge * most * one : options.ridge;
    const double added = options.double_ridge ? eps : 0.0;
    // With a cut-off the least eigenvalue that counts is positive, so no shift is needed.
    const bool cut = options.rank_rtol > 0;
    const double least = cut ? 0.0 : v[0] * one + added;
    double low = HUGE_VAL, high = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      weights[s * n + i] = 0.0f;
      if (cut && v[i] < options.rank_rtol * most) continue;
      const double h = with_ridge(v[i] * one + added, least, eps, options.heuristic);
      low = fmin(low, h);
      high = fmax(high, h);
      if (h > 0) weights[s * n + i] = static_cast<float>(pow(h, -options.exponent));
    }
    low = block_reduce(low, HUGE_VAL, [](double a, double b) { return fmin(a, b); });
    high = block_reduce(high, 0.0, [](double a, double b) { return fmax(a, b); });
    if (threadIdx.x == 0) {
      largest[s] = static_cast<float>(most);
      condition[s] = low > 0 ? static_cast<float>(high / low) : HUGE_VALF;
    }
  }
}

}  // namespace

void spectral_root(Context& context, const SpectralRootTensors& t, const SpectralRoot& options) {
  const int64_t blocks = t.values.dim(0);
  launch(context, spectral_root_kernel, for_elements(blocks * kThreads), blocks, t.values.dim(1),
         t.weights.f32(), t.largest.f32(), t.condition.f32(), t.values.f32(), t.unit.f32(),
         t.state.i32(), options);
}

}  // namespace dashlm::cuda
