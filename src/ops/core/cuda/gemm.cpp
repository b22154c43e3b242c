#include "ops/core/cuda/gemm.h"

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/error.h"
#include "device/cuda/check.h"

namespace dashlm::cuda {
namespace {

// cuBLASLt numbers the matrices of a stack along a dimension of the grid.
constexpr int64_t kMostInStack = 65535;

struct Types {
  cudaDataType_t operand;
  int64_t operand_size;
  cublasComputeType_t compute;
};

Types types_of(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::fp32:
      break;
    case MatmulPrecision::tf32:
      return {CUDA_R_32F, 4, CUBLAS_COMPUTE_32F_FAST_TF32};
    case MatmulPrecision::fp16:
      return {CUDA_R_16F, 2, CUBLAS_COMPUTE_32F};
    case MatmulPrecision::bf16:
      return {CUDA_R_16BF, 2, CUBLAS_COMPUTE_32F};
  }
  return {CUDA_R_32F, 4, CUBLAS_COMPUTE_32F};
}

// The largest power of two, at most 256, that divides the addresses of all matrices of a stack. By
// itself cuBLASLt would take 256 for granted.
uint32_t alignment_of(const void* data, int64_t stride_bytes) {
  const auto bits = reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(stride_bytes) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

// A cuBLASLt handle that destroys what it stands for.
template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    static_cast<void>(kDestroy(handle));
  }
};
template <class Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<kDestroy>>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// All that the choice of an algorithm may depend on.
struct Product {
  cublasLtHandle_t blas;
  MatmulPrecision precision;
  DType result;
  GemmShape shape;
  // What cuBLASLt is told of a matrix: of A and B as they lie in memory.
  struct Place {
    int64_t row_stride, stride;
    bool transposed;
    uint32_t alignment;
    auto operator<=>(const Place&) const = default;
  };
  Place a, b, addend, c;

  auto operator<=>(const Product&) const = default;
};

// Descriptors and the algorithm of one kind of product.
//
// cuBLASLt's matrices are column-major: it sees each of ours transposed, and computes
// Cᵀ = op(B)ᵀ · op(A)ᵀ. So our B is its first operand, our A its second, and whether an operand is
// to be transposed is what it was. Only here is this so.
struct Plan {
  Operation operation;
  Layout first, second, addend, result;
  cublasLtMatmulAlgo_t algorithm = {};

  explicit Plan(const Product& p) {
    const Types types = types_of(p.precision);
    cublasLtMatmulDesc_t description = nullptr;
    check(cublasLtMatmulDescCreate(&description, types.compute, CUDA_R_32F));
    operation.reset(description);
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed);
    const auto [stack, m, n, k] = p.shape;
    first = layout(types.operand, p.b.transposed ? n : k, p.b.transposed ? k : n, p.b, stack);
    second = layout(types.operand, p.a.transposed ? k : m, p.a.transposed ? m : k, p.a, stack);
    const cudaDataType_t type = p.result == DType::f32 ? CUDA_R_32F : types.operand;
    addend = layout(type, m, n, p.addend, stack);
    result = layout(type, m, n, p.c, stack);
    choose(p);
  }

 private:
  void transpose(cublasLtMatmulDescAttributes_t which, bool transposed) {
    const cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation.get(), which, &value, sizeof(value)));
  }

  // Row-major (rows, cols) as the column-major matrix (cols, rows) that it also is.
  static Layout layout(cudaDataType_t type, int64_t rows, int64_t cols, const Product::Place& place,
                       int64_t stack) {
    cublasLtMatrixLayout_t made = nullptr;
    check(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(cols),
                                     static_cast<uint64_t>(rows), place.row_stride));
    Layout owned(made);
    const auto count = static_cast<int32_t>(stack);
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof(count)));
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &place.stride, sizeof(place.stride)));
    return owned;
  }

  void choose(const Product& p) {
    cublasLtMatmulPreference_t made = nullptr;
    check(cublasLtMatmulPreferenceCreate(&made));
    const Preference preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(made, which, &value, sizeof(value)));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
           static_cast<uint64_t>(CudaDevice::kBlasWorkspace));
    // Where a long sum is split, its parts must not be rounded to the type of the result.
    if (p.result != DType::f32) {
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    }
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.b.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.a.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.addend.alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.c.alignment);
    cublasLtMatmulHeuristicResult_t best = {};
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(p.blas, operation.get(), first.get(), second.get(),
                                         addend.get(), result.get(), made, 1, &best, &found));
    if (found == 0) {
      fail_runtime(
          "cuBLASLt has no algorithm for {} products of {} x {} x {} in {} with results in {}",
          p.shape.stack, p.shape.m, p.shape.n, p.shape.k, enum_name(p.precision),
          name_of(p.result));
    }
    algorithm = best.algo;
  }
};

// The plan of this kind of product: references stay valid.
const Plan& plan_of(const Product& product) {
  static std::mutex mutex;
  static std::map<Product, const Plan> plans;
  const std::lock_guard lock(mutex);
  return plans.try_emplace(product, product).first->second;
}

}  // namespace

GemmOperand operand_of(const ConstTensor& x, bool transposed) {
  const int64_t rows = x.dim(x.rank() - 2), cols = x.dim(x.rank() - 1);
  return {x.data, cols, rows * cols, transposed};
}

DType operand_type(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::fp32:
    case MatmulPrecision::tf32:
      return DType::f32;
    case MatmulPrecision::fp16:
      return DType::f16;
    case MatmulPrecision::bf16:
      return DType::bf16;
  }
  return DType::f32;
}

void gemm(CudaDevice& device, MatmulPrecision precision, const GemmShape& shape,
          const GemmScale& scale, const GemmOperand& a, const GemmOperand& b,
          const GemmResult& result) {
  const int64_t operand_size = types_of(precision).operand_size, c_size = size_of(result.type);
  if (shape.stack == 0 || shape.m * shape.n == 0) return;
  if (shape.k == 0) fail_runtime("gemm: an empty sum of {} x {} products", shape.m, shape.n);
  const bool as_operands = (result.type == DType::bf16 && precision == MatmulPrecision::bf16) ||
                           (result.type == DType::f16 && precision == MatmulPrecision::fp16);
  if (result.type != DType::f32 && !as_operands) {
    fail_runtime("gemm: no results in {} from operands in {}", name_of(result.type),
                 enum_name(precision));
  }
  for (int64_t begin = 0; begin < shape.stack; begin += kMostInStack) {
    const int64_t count = std::min(kMostInStack, shape.stack - begin);
    const auto at = [&](const GemmOperand& x) {
      return static_cast<const char*>(x.data) + begin * x.stride * operand_size;
    };
    const auto place = [&](const GemmOperand& x) -> Product::Place {
      const int64_t stride_bytes = count > 1 ? x.stride * operand_size : 0;
      return {x.row_stride, x.stride, x.transposed, alignment_of(at(x), stride_bytes)};
    };
    const int64_t c_bytes = result.stride * c_size;  // from one matrix to the next
    const auto place_of_result = [&](const void* x) -> Product::Place {
      return {result.row_stride, result.stride, false, alignment_of(x, count > 1 ? c_bytes : 0)};
    };
    char* c = static_cast<char*>(result.c) + begin * c_bytes;
    const char* addend =
        scale.beta == 0.0f ? c : static_cast<const char*>(result.addend) + begin * c_bytes;
    const Plan& plan = plan_of({device.blas(),
                                precision,
                                result.type,
                                {count, shape.m, shape.n, shape.k},
                                place(a),
                                place(b),
                                place_of_result(addend),
                                place_of_result(c)});
    check(cublasLtMatmul(device.blas(), plan.operation.get(), &scale.alpha, at(b), plan.first.get(),
                         at(a), plan.second.get(), &scale.beta, addend, plan.addend.get(), c,
                         plan.result.get(), &plan.algorithm, device.blas_workspace(),
                         static_cast<size_t>(CudaDevice::kBlasWorkspace), device.stream()));
  }
}

}  // namespace dashlm::cuda
