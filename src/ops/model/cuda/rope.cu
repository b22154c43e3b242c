#include "ops/core/cuda/load_store.cuh"
#include "ops/model/backends.h"

namespace dashlm::cuda {
namespace {

struct Rotation {
  int64_t rows, length;             // B·T and T
  int64_t heads, all_heads, width;  // rotated, present, and h
  int64_t first_position;
  float sign;  // of the angles
  bool aligned;
};

// A block per row: groups of a head lie along its x, heads along its y.
template <class T>
__global__ void rotate(T* x, const float* table, Rotation r) {
  for (int64_t i = blockIdx.x; i < r.rows; i += gridDim.x) {
    const float* angles = table + (r.first_position + i % r.length) * r.width;
    for (int64_t head = threadIdx.y; head < r.heads; head += blockDim.y) {
      T* pairs = x + (i * r.all_heads + head) * r.width;
      for (int64_t j = first_in_row(); j < r.width; j += step_in_row()) {
        const Group angle = load_group(angles + j, r.width - j, r.aligned);
        Group pair = load_group(pairs + j, r.width - j, r.aligned);
#pragma unroll
        for (int k = 0; k < kGroup; k += 2) {
          const float cosine = angle.at[k], sine = r.sign * angle.at[k + 1];
          const float a = pair.at[k], b = pair.at[k + 1];
          pair.at[k] = a * cosine - b * sine;
          pair.at[k + 1] = a * sine + b * cosine;
        }
        store_group(pairs + j, pair, r.width - j, r.aligned);
      }
    }
  }
}

}  // namespace

void rope(Context& context, const Tensor& x, const ConstTensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position) {
  Rotation rotation = {
      .rows = x.dim(0) * x.dim(1),
      .length = x.dim(1),
      .heads = heads,
      .all_heads = x.dim(2),
      .width = x.dim(3),
      .first_position = first_position,
      .sign = direction == RopeDirection::forward ? 1.0f : -1.0f,
      .aligned = groups_aligned(x.dim(3), static_cast<char*>(x.data), table.f32())};
  LaunchShape shape = for_rows(rotation.rows, 1);
  const int64_t groups = std::clamp<int64_t>(divide_up(rotation.width, kGroup), 1, kThreads);
  shape.block = dim3(static_cast<unsigned>(groups),
                     static_cast<unsigned>(std::clamp<int64_t>(heads, 1, kThreads / groups)));
  with_type(
      x, [&]<class T>(T) { launch(context, rotate<T>, shape, x.as<T>(), table.f32(), rotation); });
}

}  // namespace dashlm::cuda
