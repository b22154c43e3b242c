#include "device/cpu/parallel.h"
#include "ops/blocks/backends.h"

namespace dashlm::cpu {
namespace {
constexpr int64_t kGrain = 1 << 14;  // elements for one thread
}

void update_average(Context&, const Tensor& average, const ConstTensor& x, float beta,
                    float weight) {
  float* a = average.f32();
  const float* in = x.f32();
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = beta * a[i] + weight * in[i];
  });
}

void update_square_average(Context&, const Tensor& average, const ConstTensor& x, float beta,
                           float weight) {
  float* a = average.f32();
  const float* in = x.f32();
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = beta * a[i] + weight * in[i] * in[i];
  });
}

}  // namespace dashlm::cpu
