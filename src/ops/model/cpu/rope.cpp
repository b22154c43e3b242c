#include "ops/model/rope.h"

#include "device/cpu/parallel.h"
#include "ops/core/cpu/kernels.h"

namespace dashlm::cpu {

void rope(const Tensor& x, const Tensor& table, int64_t heads, RopeDirection direction,
          int64_t first_position) {
  constexpr int64_t kRows = 16;
  const int64_t length = x.dim(1), all_heads = x.dim(2), width = x.dim(3), half = width / 2;
  const float sign = direction == RopeDirection::forward ? 1.0f : -1.0f;
  const float* angles = table.f32();
  float* data = x.f32();
  parallel_ranges(x.dim(0) * length, kRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* angle = angles + (first_position + i % length) * width;
      for (int64_t head = 0; head < heads; ++head) {
        float* pair = data + (i * all_heads + head) * width;
        for (int64_t j = 0; j < half; ++j) {
          const float cosine = angle[2 * j], sine = sign * angle[2 * j + 1];
          const float a = pair[2 * j], b = pair[2 * j + 1];
          pair[2 * j] = a * cosine - b * sine;
          pair[2 * j + 1] = a * sine + b * cosine;
        }
      }
    }
  });
}

}  // namespace dashlm::cpu
