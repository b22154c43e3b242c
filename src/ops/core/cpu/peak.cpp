#include <cblas.h>

#include <algorithm>
#include <vector>

#include "base/timer.h"
#include "ops/core/backends.h"

namespace dashlm::cpu {

// Called outside of parallel_for(), so that OpenBLAS uses all threads.
double measure_matmul_peak(Device&, MatmulPrecision, int repeats) {
  constexpr blasint kSize = 2048;
  std::vector<float> a(kSize * kSize, 0.5f), b(kSize * kSize, 0.25f), c(kSize * kSize);
  const auto product = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, a.data(), kSize,
                b.data(), kSize, 0, c.data(), kSize);
  };
  product();  // warms up threads, caches and clocks
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const Timer timer;
    product();
    best = std::min(best, timer.seconds());
  }
  return 2.0 * kSize * kSize * kSize / best;
}

}  // namespace dashlm::cpu
