#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// A block per row, in both directions.
__global__ void gate_rows(float* out, const float* gate_up, int64_t rows, int64_t width) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const float *gate = gate_up + 2 * i * width, *up = gate + width;
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      out[i * width + j] = gate[j] / (1.0f + expf(-gate[j])) * up[j];
    }
  }
}

// silu'(x) = s · (1 + x · (1 - s)) with s = 1 / (1 + exp(-x)). d_gate_up may be gate_up: a thread
// has read all of what it overwrites.
__global__ void gate_rows_backward(float* d_gate_up, const float* d_out, const float* gate_up,
                                   int64_t rows, int64_t width) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      const int64_t gate = 2 * i * width + j, up = gate + width;
      const float d = d_out[i * width + j], x = gate_up[gate], y = gate_up[up];
      const float s = 1.0f / (1.0f + expf(-x));
      d_gate_up[gate] = d * y * s * (1.0f + x * (1.0f - s));
      d_gate_up[up] = d * x * s;
    }
  }
}

}  // namespace

void swiglu(Context& context, const Tensor& out, const Tensor& gate_up) {
  if (context.planning()) return;
  const int64_t rows = out.dim(0);
  launch(stream_of(context), gate_rows, for_elements(rows * kThreads), out.f32(), gate_up.f32(),
         rows, out.dim(1));
}

void swiglu_backward(Context& context, const Tensor& d_gate_up, const Tensor& d_out,
                     const Tensor& gate_up) {
  if (context.planning()) return;
  const int64_t rows = d_out.dim(0);
  launch(stream_of(context), gate_rows_backward, for_elements(rows * kThreads), d_gate_up.f32(),
         d_out.f32(), gate_up.f32(), rows, d_out.dim(1));
}

}  // namespace dashlm::cuda
