#include "ops/matmul.h"

#include "device/cpu/parallel.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/kernels.h"

namespace dashlm::cpu {
namespace {

// C is cut into tiles that depend on its size alone, and each tile is one single-threaded product:
// so the result does not depend on the number of threads, and plain and stacked products are one
// loop. Tiles of about this size cost 5% of OpenBLAS's own threading at most.
struct Tiling {
  int64_t rows = 256, cols = 1024;
  int64_t down = 1, across = 1;  // number of tiles

  Tiling(int64_t m, int64_t n, int64_t stack) {
    constexpr int64_t kEnough = 8;  // tiles, to keep some threads busy
    constexpr int64_t kSmallest = 64;
    count(m, n);
    while (stack * down * across < kEnough && (rows > kSmallest || cols > kSmallest)) {
      (cols >= rows ? cols : rows) /= 2;
      count(m, n);
    }
  }

  void count(int64_t m, int64_t n) {
    down = (m + rows - 1) / rows;
    across = (n + cols - 1) / cols;
  }
};

}  // namespace

void matmul(const Tensor& c, const float* addend, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  const int row = c.rank() - 2, col = c.rank() - 1;
  const int64_t stack = c.rank() == 3 ? c.dim(0) : 1;
  const int64_t m = c.dim(row), n = c.dim(col);
  const int64_t k = a.dim(options.transpose_a ? row : col);
  const int64_t lda = a.dim(col), ldb = b.dim(col);
  const float *a_data = a.f32(), *b_data = b.f32();
  float* c_data = c.f32();

  const Tiling tiles(m, n, stack);
  parallel_for(stack * tiles.down * tiles.across, [&](int64_t item) {
    const int64_t s = item / (tiles.down * tiles.across);
    const int64_t i = item / tiles.across % tiles.down * tiles.rows;
    const int64_t j = item % tiles.across * tiles.cols;
    const int64_t rows = std::min(tiles.rows, m - i), cols = std::min(tiles.cols, n - j);
    const int64_t corner = s * m * n + i * n + j;
    if (addend && addend != c_data) {
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(addend + corner + r * n, cols, c_data + corner + r * n);
      }
    }
    const float* a_tile = a_data + s * m * k + (options.transpose_a ? i : i * lda);
    const float* b_tile = b_data + s * k * n + (options.transpose_b ? j * ldb : j);
    gemm(rows, cols, k, options.alpha, {a_tile, lda, options.transpose_a},
         {b_tile, ldb, options.transpose_b}, addend ? 1.0f : 0.0f, {c_data + corner, n});
  });
}

}  // namespace dashlm::cpu
