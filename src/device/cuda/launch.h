// Starts kernels and gives them dynamic shared memory. Only this file differs between nvcc and the
// tests that run CUDA sources on the CPU. Those are compiled with -include
// tests/host_cuda/prelude.h, which declares namespace host_cuda. Kernels are the same text for
// both.
#pragma once

#include <cuda_runtime.h>

#include "device/cuda/check.h"

namespace dashlm::cuda {

struct LaunchShape {
  dim3 grid;  // nothing is started when one of its sizes is 0
  dim3 block;
  size_t shared_bytes = 0;  // dynamic, at most 48 KiB
};

// Starts kernel(arguments...) on the stream, converting the arguments to the kernel's parameters.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, void (*kernel)(Parameters...), const LaunchShape& shape,
            Arguments... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
#ifdef __CUDACC__
  kernel<<<shape.grid, shape.block, shape.shared_bytes, stream>>>(
      static_cast<Parameters>(arguments)...);
  check(cudaGetLastError());
#else
  static_cast<void>(stream);
  host_cuda::run(shape.grid, shape.block, shape.shared_bytes,
                 [&] { kernel(static_cast<Parameters>(arguments)...); });
#endif
}

// Dynamic shared memory of the block, aligned to 16 bytes.
template <class T>
__device__ inline T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char dashlm_dynamic_shared[];
  return reinterpret_cast<T*>(dashlm_dynamic_shared);
#else
  return static_cast<T*>(host_cuda::dynamic_shared());
#endif
}

}  // namespace dashlm::cuda
