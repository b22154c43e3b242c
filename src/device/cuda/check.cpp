#include "device/cuda/check.h"

#include "base/error.h"

namespace dashlm::cuda {
namespace {

[[noreturn]] void fail(const char* library, const char* message,
                       const std::source_location& where) {
  fail_runtime("{}: {} (in {}, {}:{})", library, message, where.function_name(), where.file_name(),
               where.line());
}

}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status != cudaSuccess) fail("CUDA", cudaGetErrorString(status), where);
}

void check(cublasStatus_t status, std::source_location where) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("cuBLAS", cublasLtGetStatusString(status), where);
}

void check(cusolverStatus_t status, std::source_location where) {
  if (status != CUSOLVER_STATUS_SUCCESS) {
    fail("cuSOLVER", fmt::format("status {}", static_cast<int>(status)).c_str(), where);
  }
}

}  // namespace dashlm::cuda
