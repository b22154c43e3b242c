#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

struct Rotation {
  int64_t rows, length;             // B·T and T
  int64_t heads, all_heads, width;  // rotated, present, and h
  int64_t first_position;
  float sign;  // of the angles
};

// A block per row, in which a warp takes a head at a time.
__global__ void rotate(float* x, const float* table, Rotation r) {
  const int64_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int64_t i = blockIdx.x; i < r.rows; i += gridDim.x) {
    const float* angle = table + (r.first_position + i % r.length) * r.width;
    for (int64_t head = warp; head < r.heads; head += blockDim.x / kWarp) {
      float* pair = x + (i * r.all_heads + head) * r.width;
      for (int64_t j = 2 * lane; j < r.width; j += 2 * kWarp) {
        const float cosine = angle[j], sine = r.sign * angle[j + 1];
        const float a = pair[j], b = pair[j + 1];
        pair[j] = a * cosine - b * sine;
        pair[j + 1] = a * sine + b * cosine;
      }
    }
  }
}

}  // namespace

void rope(Context& context, const Tensor& x, const Tensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position) {
  if (context.planning()) return;
  const Rotation rotation = {.rows = x.dim(0) * x.dim(1),
                             .length = x.dim(1),
                             .heads = heads,
                             .all_heads = x.dim(2),
                             .width = x.dim(3),
                             .first_position = first_position,
                             .sign = direction == RopeDirection::forward ? 1.0f : -1.0f};
  launch(stream_of(context), rotate, for_elements(rotation.rows * kThreads), x.f32(), table.f32(),
         rotation);
}

}  // namespace dashlm::cuda
