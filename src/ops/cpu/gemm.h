// One matrix product by the calling thread; to be called from within parallel_for(), where OpenBLAS
// starts no threads of its own.
#pragma once

#include <cblas.h>

#include <cstdint>

namespace dashlm::cpu {

// A row-major matrix inside a larger one: `stride` elements from one row to the next.
struct Matrix {
  float* data;
  int64_t stride;
};
struct ConstMatrix {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// C (m, n) = alpha · op(A) (m, k) · op(B) (k, n) + beta · C.
inline void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b,
                 float beta, Matrix c) {
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), alpha, a.data,
              static_cast<blasint>(a.stride), b.data, static_cast<blasint>(b.stride), beta, c.data,
              static_cast<blasint>(c.stride));
}

}  // namespace dashlm::cpu
