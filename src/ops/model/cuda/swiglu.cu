#include "ops/core/cuda/load_store.cuh"
#include "ops/model/backends.h"

namespace dashlm::cuda {
namespace {

// A block per row, in both directions.
template <class T>
__global__ void gate_rows(T* out, const T* gate_up, int64_t rows, int64_t width, bool aligned) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    const T *gate = gate_up + 2 * i * width, *up = gate + width;
    for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
      const Group x = load_group(gate + j, width - j, aligned);
      Group y = load_group(up + j, width - j, aligned);
      each([&](int k) { y.at[k] *= x.at[k] / (1.0f + expf(-x.at[k])); });
      store_group(out + i * width + j, y, width - j, aligned);
    }
  }
}

// silu'(x) = s · (1 + x · (1 - s)) with s = 1 / (1 + exp(-x)). d_gate_up may be gate_up: a thread
// has read all of what it overwrites.
template <class T>
__global__ void gate_rows_backward(T* d_gate_up, const T* d_out, const T* gate_up, int64_t rows,
                                   int64_t width, bool aligned) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    for (int64_t j = first_in_row(); j < width; j += step_in_row()) {
      const int64_t gate = 2 * i * width + j, up = gate + width;
      const Group d = load_group(d_out + i * width + j, width - j, aligned);
      Group x = load_group(gate_up + gate, width - j, aligned);
      Group y = load_group(gate_up + up, width - j, aligned);
      each([&](int k) {
        const float s = 1.0f / (1.0f + expf(-x.at[k]));
        const float d_gate = d.at[k] * y.at[k] * s * (1.0f + x.at[k] * (1.0f - s));
        y.at[k] = d.at[k] * x.at[k] * s;
        x.at[k] = d_gate;
      });
      store_group(d_gate_up + gate, x, width - j, aligned);
      store_group(d_gate_up + up, y, width - j, aligned);
    }
  }
}

}  // namespace

void swiglu(Context& context, const Tensor& out, const ConstTensor& gate_up) {
  const int64_t rows = out.dim(0), width = out.dim(1);
  with_type(out, [&]<class T>(T) {
    T* to = out.as<T>();
    const T* from = gate_up.as<T>();
    launch(context, gate_rows<T>, for_rows(rows, width), to, from, rows, width,
           groups_aligned(width, to, from));
  });
}

void swiglu_backward(Context& context, const Tensor& d_gate_up, const ConstTensor& d_out,
                     const ConstTensor& gate_up) {
  const int64_t rows = d_out.dim(0), width = d_out.dim(1);
  with_type(d_out, [&]<class T>(T) {
    T* to = d_gate_up.as<T>();
    const T *d = d_out.as<T>(), *from = gate_up.as<T>();
    launch(context, gate_rows_backward<T>, for_rows(rows, width), to, d, from, rows, width,
           groups_aligned(width, to, d, from));
  });
}

}  // namespace dashlm::cuda
