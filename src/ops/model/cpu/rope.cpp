#include "device/cpu/parallel.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/model/backends.h"

namespace dashlm::cpu {
namespace {

void rotate(const Tensor& x, const ConstTensor& table, int64_t heads, RopeDirection direction,
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

}  // namespace

void rope(Context& context, const Tensor& x, const ConstTensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position) {
  run_in_f32(context, rotate, updates(x), table, heads, direction, first_position);
}

}  // namespace dashlm::cpu
