// The part of cuBLASLt that products of matrices need: D = alpha op(A) op(B) + beta C, in batches
// at a stride, of float32, bfloat16 and float16, accumulated in float32. It insists on what the
// library may rely on: pointers to allocations that hold the matrices, aligned as was promised when
// the algorithm was chosen, and a workspace as large as was promised. Where the choice allows sums
// to be split and their parts kept in the type of a narrow result, it does so.
#include <cblas.h>
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "host_cuda/memory.h"

struct cublasLtContext {};

namespace dashlm::host_cuda {
namespace {

// What the library's opaque descriptors hold here. Attributes have the types that it documents.
struct Operation {
  int32_t compute, scale;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};
struct Layout {
  uint32_t type;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C, D
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
};
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulAlgo_t));

template <class T, class Handle>
const T& held(Handle handle) {
  return *reinterpret_cast<const T*>(handle);
}

template <class T>
cublasStatus_t set(T* attribute, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

size_t size_of(uint32_t type) {
  return type == CUDA_R_32F ? 4 : 2;
}

bool valid(const Layout& x) {
  const bool row = x.order == CUBLASLT_ORDER_ROW;
  const uint64_t inner = row ? x.cols : x.rows;
  return (x.type == CUDA_R_32F || x.type == CUDA_R_16BF || x.type == CUDA_R_16F) &&
         (row || x.order == CUBLASLT_ORDER_COL) && x.rows > 0 && x.cols > 0 && x.ld > 0 &&
         static_cast<uint64_t>(x.ld) >= inner && x.batch > 0 && x.stride >= 0;
}

bool lies_on_device(const void* memory, const Layout& x) {
  const bool row = x.order == CUBLASLT_ORDER_ROW;
  const uint64_t inner = row ? x.cols : x.rows, outer = row ? x.rows : x.cols;
  const uint64_t elements = static_cast<uint64_t>(x.batch - 1) * static_cast<uint64_t>(x.stride) +
                            (outer - 1) * static_cast<uint64_t>(x.ld) + inner;
  return memory != nullptr && on_device(memory, elements * size_of(x.type));
}

bool aligned(const void* memory, uint32_t to) {
  return to == 0 || reinterpret_cast<uintptr_t>(memory) % to == 0;
}

// The sizes of a product; op(A) is m x k and op(B) k x n.
struct Sizes {
  size_t m, n, k;
};

cublasStatus_t check_product(const Operation& op, const Layout& a, const Layout& b, const Layout& c,
                             const Layout& d, Sizes& sizes) {
  for (const Layout* x : {&a, &b, &c, &d}) {
    if (!valid(*x)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool ta = op.transpose_a != CUBLAS_OP_N, tb = op.transpose_b != CUBLAS_OP_N;
  sizes = {ta ? a.cols : a.rows, tb ? b.rows : b.cols, ta ? a.rows : a.cols};
  if ((tb ? b.cols : b.rows) != sizes.k || d.rows != sizes.m || d.cols != sizes.n ||
      c.rows != sizes.m || c.cols != sizes.n || c.order != d.order || c.type != d.type ||
      a.batch != d.batch || b.batch != d.batch || c.batch != d.batch) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // Entries of D that overlap would depend on the order in which they are written.
  const auto extent =
      static_cast<uint64_t>(d.ld) * (d.order == CUBLASLT_ORDER_ROW ? d.rows : d.cols);
  const uint64_t least =
      extent - static_cast<uint64_t>(d.ld) + (d.order == CUBLASLT_ORDER_ROW ? d.cols : d.rows);
  if (d.batch > 1 && static_cast<uint64_t>(d.stride) < least) return CUBLAS_STATUS_INVALID_VALUE;
  const bool tf32 = op.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const bool computes =
      tf32 || op.compute == CUBLAS_COMPUTE_32F || op.compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  // Operands of one type; a result of theirs or float32.
  if (!computes || op.scale != CUDA_R_32F || op.epilogue != CUBLASLT_EPILOGUE_DEFAULT ||
      op.pointer_mode != CUBLASLT_POINTER_MODE_HOST || a.type != b.type ||
      (d.type != a.type && d.type != CUDA_R_32F) || (tf32 && a.type != CUDA_R_32F)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// To 10 bits of mantissa, by dropping the others: the library leaves open how, so callers that care
// must have rounded.
float cut_to_tf32(float x) {
  return std::isnan(x) ? x : std::bit_cast<float>(std::bit_cast<uint32_t>(x) & ~0x1fffu);
}

// Calls act(T*) with the matrix's elements in batch entry s, of type T.
template <class Pointer, class Act>
void with_elements(Pointer memory, const Layout& x, int64_t s, const Act& act) {
  const int64_t offset = s * x.stride;
  constexpr bool reads = std::is_same_v<Pointer, const void*>;
  const auto as = [&]<class T>(T) {
    using Element = std::conditional_t<reads, const T, T>;
    act(static_cast<Element*>(memory) + offset);
  };
  if (x.type == CUDA_R_16BF) return as(__nv_bfloat16{});
  if (x.type == CUDA_R_16F) return as(__half{});
  as(float{});
}

int64_t at(const Layout& x, size_t row, size_t col) {
  const auto r = static_cast<int64_t>(row), c = static_cast<int64_t>(col);
  return x.order == CUBLASLT_ORDER_ROW ? r * x.ld + c : c * x.ld + r;
}

// Batch entry s of op(matrix), column after column.
std::vector<float> load(const void* memory, const Layout& x, int64_t s, bool transpose, bool tf32) {
  std::vector<float> result(x.rows * x.cols);
  with_elements(memory, x, s, [&](const auto* from) {
    for (size_t j = 0; j < x.cols; ++j) {
      for (size_t i = 0; i < x.rows; ++i) {
        const auto value = static_cast<float>(from[at(x, i, j)]);
        result[transpose ? i * x.cols + j : j * x.rows + i] = tf32 ? cut_to_tf32(value) : value;
      }
    }
  });
  return result;
}

void store(void* memory, const Layout& x, int64_t s, const std::vector<float>& values) {
  with_elements(memory, x, s, [&]<class T>(T* to) {
    for (size_t j = 0; j < x.cols; ++j) {
      for (size_t i = 0; i < x.rows; ++i) to[at(x, i, j)] = static_cast<T>(values[j * x.rows + i]);
    }
  });
}

}  // namespace
}  // namespace dashlm::host_cuda

using namespace dashlm::host_cuda;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  *operation =
      reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{.compute = compute, .scale = scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  auto& op = *reinterpret_cast<Operation*>(operation);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(&op.compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(&op.scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(&op.pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(&op.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(&op.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(&op.epilogue, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete reinterpret_cast<Operation*>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{.type = static_cast<uint32_t>(type), .rows = rows, .cols = cols, .ld = ld});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  auto& x = *reinterpret_cast<Layout*>(layout);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(&x.type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(&x.order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(&x.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(&x.cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(&x.ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(&x.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(&x.stride, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  auto& p = *reinterpret_cast<Preference*>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(&p.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(&p.alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(&p.alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(&p.alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(&p.alignment[3], value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(&p.reduction_schemes, value, bytes);
    // What the algorithms that may be chosen have in common matters to none here.
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
    case CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT:
    case CUBLASLT_MATMUL_PREF_IMPL_MASK:
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

// The one algorithm needs all of the workspace that it may have, and remembers what was promised.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  Sizes sizes{};
  const cublasStatus_t status =
      check_product(held<Operation>(operation), held<Layout>(a), held<Layout>(b), held<Layout>(c),
                    held<Layout>(d), sizes);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto& promised = held<Preference>(preference);
  results[0] = {};
  std::memcpy(&results[0].algo, &promised, sizeof promised);
  results[0].workspaceSize = promised.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1.0f;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto& op = held<Operation>(operation);
  const Layout &la = held<Layout>(a_layout), &lb = held<Layout>(b_layout),
               &lc = held<Layout>(c_layout), &ld = held<Layout>(d_layout);
  Sizes sizes{};
  const cublasStatus_t status = check_product(op, la, lb, lc, ld, sizes);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const float scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  if (!lies_on_device(a, la) || !lies_on_device(b, lb) || !lies_on_device(d, ld) ||
      (keep != 0 && !lies_on_device(c, lc)) || !on_device(workspace, workspace_bytes) ||
      (c == d && (lc.ld != ld.ld || lc.stride != ld.stride))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Preference promised;
  if (algorithm != nullptr) {
    std::memcpy(static_cast<void*>(&promised), algorithm, sizeof promised);
    if (!aligned(a, promised.alignment[0]) || !aligned(b, promised.alignment[1]) ||
        !aligned(c, promised.alignment[2]) || !aligned(d, promised.alignment[3]) ||
        workspace_bytes < promised.workspace) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const bool tf32 = op.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const auto m = static_cast<int>(sizes.m), n = static_cast<int>(sizes.n),
             k = static_cast<int>(sizes.k);
  constexpr uint32_t kRoundedParts =
      CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  const bool splits =
      ld.type != CUDA_R_32F && (promised.reduction_schemes & kRoundedParts) != 0 && k > 1;
  const int first = splits ? k / 2 : 0;  // terms of a sum's first part
  // OpenBLAS uses one thread inside a parallel region, and for products as small as these outside
  // of one: results do not depend on the number of threads.
  const bool large =
      sizes.m * sizes.n * sizes.k * static_cast<size_t>(ld.batch) > (size_t{1} << 17);
#pragma omp parallel for schedule(dynamic) if (large)
  for (int64_t s = 0; s < ld.batch; ++s) {
    const std::vector<float> left = load(a, la, s, op.transpose_a != CUBLAS_OP_N, tf32),
                             right = load(b, lb, s, op.transpose_b != CUBLAS_OP_N, tf32);
    std::vector<float> result(sizes.m * sizes.n);
    if (keep != 0) result = load(c, lc, s, false, false);
    const auto add = [&](int from, int terms, float before) {
      cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, terms, scale,
                  left.data() + int64_t{from} * m, m, right.data() + from, k, before, result.data(),
                  m);
    };
    if (splits) {
      add(0, first, keep);
      store(d, ld, s, result);
      result = load(d, ld, s, false, false);
    }
    add(first, k - first, splits ? 1.0f : keep);
    store(d, ld, s, result);
  }
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown cuBLAS status";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return cublasLtGetStatusName(status);
}
