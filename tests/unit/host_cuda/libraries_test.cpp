// Tests of the layer's cuBLASLt and cuSOLVER against plain loops in double precision.
#include <cublasLt.h>
#include <cusolverDn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "device/cuda/check.h"

namespace dashlm::cuda {
namespace {

struct DeviceMemory {
  explicit DeviceMemory(size_t bytes) { check(cudaMalloc(&at, bytes)); }
  ~DeviceMemory() { static_cast<void>(cudaFree(at)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* at = nullptr;
};

// A stack of matrices as cuBLASLt sees it, with gaps after rows or columns and after matrices.
template <class T>
struct Stack {
  static constexpr int64_t kBatch = 3;
  int64_t rows, cols;
  bool row_major;
  int64_t ld = (row_major ? cols : rows) + 2, stride = ld * (row_major ? rows : cols) + 5;
  std::vector<T> values = std::vector<T>(static_cast<size_t>(kBatch * stride));
  DeviceMemory memory{values.size() * sizeof(T)};
  cublasLtMatrixLayout_t layout = nullptr;

  Stack(int64_t rows_, int64_t cols_, bool row_major_, cudaDataType type, unsigned seed)
      : rows(rows_), cols(cols_), row_major(row_major_) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (T& x : values) x = static_cast<T>(normal(generator));
    upload();
    check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(cols), ld));
    const int32_t order = row_major ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL, batch = kBatch;
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, order);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Stack() { static_cast<void>(cublasLtMatrixLayoutDestroy(layout)); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  template <class Value>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
    check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
  }
  void upload() {
    check(cudaMemcpy(memory.at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  void download() {
    check(cudaMemcpy(values.data(), memory.at, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }
  float operator()(int64_t s, int64_t row, int64_t col, bool transposed = false) const {
    if (transposed) std::swap(row, col);
    const int64_t at = row_major ? row * ld + col : col * ld + row;
    return static_cast<float>(values[static_cast<size_t>(s * stride + at)]);
  }
};

struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;

  Product(cublasComputeType_t compute, bool transpose_a, bool transpose_b) {
    check(cublasLtCreate(&handle));
    check(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F));
    const int32_t a = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                  b = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a));
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b));
  }
  ~Product() {
    static_cast<void>(cublasLtMatmulDescDestroy(operation));
    static_cast<void>(cublasLtDestroy(handle));
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  template <class A, class D>
  cublasStatus_t run(float alpha, const Stack<A>& a, const Stack<A>& b, float beta, Stack<D>& d,
                     const cublasLtMatmulAlgo_t* algorithm = nullptr, int64_t offset = 0) {
    return cublasLtMatmul(handle, operation, &alpha, static_cast<A*>(a.memory.at) + offset,
                          a.layout, b.memory.at, b.layout, &beta, d.memory.at, d.layout,
                          d.memory.at, d.layout, algorithm, nullptr, 0, nullptr);
  }
};

// To 10 bits of mantissa by dropping the others, by arithmetic rather than by bits.
float to_tf32(float x) {
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::trunc(std::ldexp(fraction, 11)), exponent - 11);
}

template <class A, class D>
void check_products(cudaDataType a_type, cudaDataType d_type, cublasComputeType_t compute,
                    double tolerance) {
  constexpr int64_t kM = 7, kN = 5, kK = 13;
  const auto operand = [&](float x) {
    return static_cast<double>(compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? to_tf32(x) : x);
  };
  for (int variant = 0; variant < 32; ++variant) {
    const bool ta = variant & 1, tb = variant & 2;
    const Stack<A> a(ta ? kK : kM, ta ? kM : kK, variant & 4, a_type, 1);
    const Stack<A> b(tb ? kN : kK, tb ? kK : kN, variant & 8, a_type, 2);
    Stack<D> d(kM, kN, variant & 16, d_type, 3);
    const Stack<D> before(kM, kN, variant & 16, d_type, 3);
    Product product(compute, ta, tb);
    ASSERT_EQ(product.run(0.5f, a, b, 2.0f, d), CUBLAS_STATUS_SUCCESS);
    d.download();
    for (int64_t s = 0; s < Stack<A>::kBatch; ++s) {
      for (int64_t i = 0; i < kM; ++i) {
        for (int64_t j = 0; j < kN; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < kK; ++k) sum += operand(a(s, i, k, ta)) * operand(b(s, k, j, tb));
          EXPECT_NEAR(d(s, i, j), 0.5 * sum + 2.0 * static_cast<double>(before(s, i, j)),
                      tolerance);
        }
      }
    }
    // The gaps have been left alone.
    EXPECT_EQ(static_cast<float>(d.values.back()), static_cast<float>(before.values.back()));
  }
}

TEST(HostCublasLt, Products) {
  check_products<float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-5);
  check_products<float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 1e-5);
  check_products<__nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-5);
  check_products<__half, float>(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-5);
  check_products<__nv_bfloat16, __nv_bfloat16>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0.1);
  check_products<__half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 0.01);
}

TEST(HostCublasLt, WhatIsNotKeptIsNotRead) {
  const Stack<float> a(4, 4, true, CUDA_R_32F, 1), b(4, 4, true, CUDA_R_32F, 2);
  Stack<float> d(4, 4, true, CUDA_R_32F, 3);
  std::fill(d.values.begin(), d.values.end(), std::numeric_limits<float>::quiet_NaN());
  d.upload();
  Product product(CUBLAS_COMPUTE_32F, false, false);
  ASSERT_EQ(product.run(1.0f, a, b, 0.0f, d), CUBLAS_STATUS_SUCCESS);
  d.download();
  EXPECT_TRUE(std::isfinite(d(2, 3, 3)));
}

TEST(HostCublasLt, RefusesWhatDoesNotFit) {
  const Stack<float> a(4, 6, true, CUDA_R_32F, 1), b(6, 5, true, CUDA_R_32F, 2);
  Stack<float> d(4, 5, true, CUDA_R_32F, 3);
  EXPECT_EQ(Product(CUBLAS_COMPUTE_32F, true, false).run(1.0f, a, b, 0.0f, d),
            CUBLAS_STATUS_INVALID_VALUE);
  Product product(CUBLAS_COMPUTE_32F, false, false);
  EXPECT_EQ(product.run(1.0f, a, b, 0.0f, d, nullptr, 8), CUBLAS_STATUS_INVALID_VALUE)
      << "past the end of the allocation";
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference));
  const uint64_t workspace = 64;
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace, sizeof workspace));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(product.handle, product.operation, a.layout, b.layout,
                                           d.layout, d.layout, preference, 1, &result, &found),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(product.run(1.0f, a, b, 0.0f, d, &result.algo), CUBLAS_STATUS_INVALID_VALUE)
      << "without the workspace";
  check(cublasLtMatmulPreferenceDestroy(preference));
}

template <class T>
std::vector<T> download(const void* memory, size_t count) {
  std::vector<T> result(count);
  check(cudaMemcpy(result.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return result;
}

// Solves a stack of three random symmetric matrices, the second with a NaN, and checks V diag V^T.
template <class T>
void check_eigenvectors(cudaDataType type, cublasFillMode_t triangle, double tolerance) {
  constexpr size_t kN = 9, kBatch = 3, kSize = kN * kN;
  std::vector<T> matrices(kBatch * kSize);
  std::mt19937 generator(5);
  std::normal_distribution<T> normal;
  for (size_t s = 0; s < kBatch; ++s) {
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        matrices[s * kSize + i * kN + j] = matrices[s * kSize + j * kN + i] = normal(generator);
      }
    }
  }
  matrices[kSize] = std::numeric_limits<T>::quiet_NaN();
  const DeviceMemory a(matrices.size() * sizeof(T)), w(kBatch * kN * sizeof(T)),
      info(kBatch * sizeof(int));
  check(cudaMemcpy(a.at, matrices.data(), matrices.size() * sizeof(T), cudaMemcpyHostToDevice));
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t parameters = nullptr;
  check(cusolverDnCreate(&handle));
  check(cusolverDnCreateParams(&parameters));
  size_t device_bytes = 0, host_bytes = 0;
  check(cusolverDnXsyevBatched_bufferSize(handle, parameters, CUSOLVER_EIG_MODE_VECTOR, triangle,
                                          kN, type, a.at, kN, type, w.at, type, &device_bytes,
                                          &host_bytes, kBatch));
  const DeviceMemory work(device_bytes);
  std::vector<char> host_work(host_bytes);
  check(cusolverDnXsyevBatched(handle, parameters, CUSOLVER_EIG_MODE_VECTOR, triangle, kN, type,
                               a.at, kN, type, w.at, type, work.at, device_bytes, host_work.data(),
                               host_bytes, static_cast<int*>(info.at), kBatch));
  check(cusolverDnDestroyParams(parameters));
  check(cusolverDnDestroy(handle));
  const std::vector<T> vectors = download<T>(a.at, matrices.size()),
                       values = download<T>(w.at, kBatch * kN);
  const std::vector<int> infos = download<int>(info.at, kBatch);
  EXPECT_TRUE(infos[1] > 0 || std::isnan(values[kN]));
  for (const size_t s : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(infos[s], 0);
    for (size_t i = 0; i < kN; ++i) {
      EXPECT_LE(values[s * kN + (i > 0 ? i - 1 : 0)], values[s * kN + i]);
      for (size_t j = 0; j < kN; ++j) {
        double sum = 0;
        for (size_t k = 0; k < kN; ++k) {
          const T* column = &vectors[s * kSize + k * kN];
          sum += static_cast<double>(column[i]) * static_cast<double>(values[s * kN + k]) *
                 static_cast<double>(column[j]);
        }
        EXPECT_NEAR(sum, static_cast<double>(matrices[s * kSize + i * kN + j]), tolerance);
      }
    }
  }
}

TEST(HostCusolver, Eigenvectors) {
  for (const auto triangle : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    check_eigenvectors<float>(CUDA_R_32F, triangle, 1e-5);
    check_eigenvectors<double>(CUDA_R_64F, triangle, 1e-13);
  }
}

}  // namespace
}  // namespace dashlm::cuda
