// Every call of a CUDA library goes through check(). An error becomes an exception that names the
// call and its place in the source.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <source_location>

namespace dashlm::cuda {

void check(cudaError_t status, std::source_location where = std::source_location::current());
void check(cublasStatus_t status, std::source_location where = std::source_location::current());
void check(cusolverStatus_t status, std::source_location where = std::source_location::current());

}  // namespace dashlm::cuda
