#include "ops/core/cpu/matmul.h"

#include "device/cpu/parallel.h"
#include "ops/core/backends.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/in_f32.h"

namespace dashlm::cpu {
namespace {

void copy(float* to, const float* from, int64_t count) {
  constexpr int64_t kGrain = 1 << 16;
  parallel_ranges(count, kGrain, [&](int64_t begin, int64_t end) {
    std::copy_n(from + begin, end - begin, to + begin);
  });
}

}  // namespace

void multiply(const Tensor& c, const float* addend, const ConstTensor& a, const ConstTensor& b,
              const MatmulOptions& options) {
  const int row = c.rank() - 2, col = c.rank() - 1;
  const int64_t m = c.dim(row), n = c.dim(col);
  const int64_t k = a.dim(options.transpose_a ? row : col);
  const float beta = addend ? 1.0f : 0.0f;
  if (addend && addend != c.f32()) copy(c.f32(), addend, c.elements());
  for_each_matrix(c.rank() == 3 ? c.dim(0) : 1, m * n * k, [&](int64_t s) {
    gemm(m, n, k, options.alpha, {a.f32() + s * m * k, a.dim(col), options.transpose_a},
         {b.f32() + s * k * n, b.dim(col), options.transpose_b}, beta, {c.f32() + s * m * n, n});
  });
}

void matmul(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
            const MatmulOptions& options) {
  const auto kernel = [&](const Tensor& wide_c, const ConstTensor& wide_a,
                          const ConstTensor& wide_b) {
    multiply(wide_c, nullptr, wide_a, wide_b, options);
  };
  run_in_f32(context, kernel, writes(c), reads(a), reads(b));
}

void matmul_add(Context& context, const Tensor& c, const ConstTensor& addend, const ConstTensor& a,
                const ConstTensor& b, const MatmulOptions& options) {
  const auto kernel = [&](const Tensor& wide_c, const ConstTensor& added, const ConstTensor& wide_a,
                          const ConstTensor& wide_b) {
    multiply(wide_c, added.f32(), wide_a, wide_b, options);
  };
  run_in_f32(context, kernel, writes(c), reads(addend), reads(a), reads(b));
}

}  // namespace dashlm::cpu
