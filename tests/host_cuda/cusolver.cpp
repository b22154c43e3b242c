// The part of cuSOLVER that eigenvectors of stacks of symmetric matrices need, by LAPACK.
#include <cusolverDn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "host_cuda/memory.h"

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};

extern "C" {
void ssyevd_(const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* w,
             float* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace dashlm::host_cuda {
namespace {

void syevd(const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* w,
           float* work, const int* lwork, int* iwork, const int* liwork, int* info) {
  ssyevd_(jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info);
}
void syevd(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
           double* work, const int* lwork, int* iwork, const int* liwork, int* info) {
  dsyevd_(jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info);
}

struct Problem {
  cusolverEigMode_t vectors;
  cublasFillMode_t triangle;
  int64_t n, lda;

  bool reads(int64_t row, int64_t col) const {
    return triangle == CUBLAS_FILL_MODE_LOWER ? row >= col : row <= col;
  }
};

bool valid(const Problem& p, cudaDataType a, cudaDataType w, cudaDataType compute, int64_t batch) {
  return (p.vectors == CUSOLVER_EIG_MODE_VECTOR || p.vectors == CUSOLVER_EIG_MODE_NOVECTOR) &&
         (p.triangle == CUBLAS_FILL_MODE_LOWER || p.triangle == CUBLAS_FILL_MODE_UPPER) &&
         p.n > 0 && p.n <= std::numeric_limits<int>::max() && p.lda >= p.n && batch > 0 &&
         (a == CUDA_R_32F || a == CUDA_R_64F) && w == a && compute == a;
}

size_t size_of(cudaDataType type) {
  return type == CUDA_R_32F ? sizeof(float) : sizeof(double);
}

// As the library does, we ask for some memory of either kind, though none is used.
size_t device_workspace(const Problem& p, cudaDataType type) {
  return static_cast<size_t>(p.n * p.n) * size_of(type);
}
size_t host_workspace(const Problem& p) {
  return static_cast<size_t>(p.n) * sizeof(double);
}

// One matrix. LAPACK may not end when numbers are not finite: such a matrix gives NaN, and info 0,
// as the library does not say that it finds them.
template <class T>
int solve(const Problem& p, T* a, T* w) {
  bool finite = true;
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.n; ++i) {
      if (p.reads(i, j)) finite = finite && std::isfinite(a[j * p.lda + i]);
    }
  }
  if (!finite) {
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    std::fill_n(w, p.n, kNan);
    for (int64_t j = 0; j < p.n; ++j) std::fill_n(a + j * p.lda, p.n, kNan);
    return 0;
  }
  const int n = static_cast<int>(p.n), lda = static_cast<int>(p.lda);
  const char* job = p.vectors == CUSOLVER_EIG_MODE_VECTOR ? "V" : "N";
  const char* triangle = p.triangle == CUBLAS_FILL_MODE_LOWER ? "L" : "U";
  std::vector<T> work(static_cast<size_t>(1 + 6 * p.n + 2 * p.n * p.n));
  std::vector<int> integers(static_cast<size_t>(3 + 5 * p.n));
  const int work_size = static_cast<int>(work.size()),
            integers_size = static_cast<int>(integers.size());
  int info = 0;
  syevd(job, triangle, &n, a, &lda, w, work.data(), &work_size, integers.data(), &integers_size,
        &info);
  return info;
}

template <class T>
void solve_all(const Problem& p, void* a, void* w, int* info, int64_t batch) {
  // Inside a parallel region OpenBLAS uses one thread: its results do not depend on their number.
#pragma omp parallel for schedule(dynamic)
  for (int64_t s = 0; s < batch; ++s) {
    info[s] = solve(p, static_cast<T*>(a) + s * p.lda * p.n, static_cast<T*>(w) + s * p.n);
  }
}

}  // namespace
}  // namespace dashlm::host_cuda

using namespace dashlm::host_cuda;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = new cusolverDnContext;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* parameters) {
  *parameters = new cusolverDnParams;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t parameters) {
  delete parameters;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                                   cusolverEigMode_t vectors,
                                                   cublasFillMode_t triangle, int64_t n,
                                                   cudaDataType a_type, const void*, int64_t lda,
                                                   cudaDataType w_type, const void*,
                                                   cudaDataType compute_type, size_t* device_bytes,
                                                   size_t* host_bytes, int64_t batch) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const Problem p{vectors, triangle, n, lda};
  if (!valid(p, a_type, w_type, compute_type, batch)) return CUSOLVER_STATUS_INVALID_VALUE;
  *device_bytes = device_workspace(p, a_type);
  *host_bytes = host_workspace(p);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t,
                                        cusolverEigMode_t vectors, cublasFillMode_t triangle,
                                        int64_t n, cudaDataType a_type, void* a, int64_t lda,
                                        cudaDataType w_type, void* w, cudaDataType compute_type,
                                        void* device_buffer, size_t device_bytes, void* host_buffer,
                                        size_t host_bytes, int* info, int64_t batch) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const Problem p{vectors, triangle, n, lda};
  if (!valid(p, a_type, w_type, compute_type, batch)) return CUSOLVER_STATUS_INVALID_VALUE;
  const auto matrices = static_cast<size_t>(batch), size = size_of(a_type);
  if (device_bytes < device_workspace(p, a_type) || host_bytes < host_workspace(p) ||
      host_buffer == nullptr || !on_device(device_buffer, device_bytes) ||
      !on_device(a, matrices * static_cast<size_t>(lda * n) * size) ||
      !on_device(w, matrices * static_cast<size_t>(n) * size) ||
      !on_device(info, matrices * sizeof(int))) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  if (a_type == CUDA_R_32F) {
    solve_all<float>(p, a, w, info, batch);
  } else {
    solve_all<double>(p, a, w, info, batch);
  }
  return CUSOLVER_STATUS_SUCCESS;
}
