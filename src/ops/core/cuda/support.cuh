// What kernels share: how they are started, sizes of launches, and sums over a warp or a block.
//
// Sums are deterministic: their order depends on the number of threads alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda/cuda_device.h"
#include "device/cuda/launch.h"
#include "ops/core/context.h"

namespace dashlm::cuda {

constexpr int kWarp = 32;
constexpr int kThreads = 256;  // of a block, unless a kernel needs another number

inline CudaDevice& device_of(const Context& context) {
  return static_cast<CudaDevice&>(context.device);
}
inline cudaStream_t stream_of(const Context& context) {
  return device_of(context).stream();
}

inline int64_t divide_up(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}

// Queues a kernel on the context's stream, but not when planning.
template <class... Parameters, class... Arguments>
void launch(const Context& context, void (*kernel)(Parameters...), const LaunchShape& shape,
            Arguments... arguments) {
  context.compute([&] { launch(stream_of(context), kernel, shape, arguments...); });
}

// Threads of a block that has `count` elements: whole warps, no more than it has work for.
inline unsigned threads_for(int64_t count) {
  return static_cast<unsigned>(std::clamp<int64_t>(divide_up(count, kWarp), 1, kThreads / kWarp)) *
         kWarp;
}

// Blocks of kThreads for a grid-stride loop over `count` elements: enough to fill any GPU, so that
// grids stay small however large `count` is.
inline LaunchShape for_elements(int64_t count) {
  constexpr int64_t kMostBlocks = 4096;
  const int64_t blocks = divide_up(count, kThreads);
  return {dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks)), dim3(kThreads)};
}

// This thread's first element and its step in such a loop.
__device__ inline int64_t first_element() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t element_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// The sum, or another associative and commutative reduction, over the warp; every lane gets it.
template <class T, class Reduce>
__device__ inline T warp_reduce(T value, const Reduce& reduce) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = reduce(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

// The same over the block. Every thread must take part and gets the result. blockDim.x is a
// multiple of 32, at most 1024. `identity` is the reduction's identity.
template <class T, class Reduce>
__device__ inline T block_reduce(T value, T identity, const Reduce& reduce) {
  __shared__ T partial[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = warp_reduce(value, reduce);
  __syncthreads();  // the results of an earlier call may still be read
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = warp_reduce(lane < warps ? partial[lane] : identity, reduce);
  return value;
}

template <class T>
__device__ inline T block_sum(T value) {
  return block_reduce(value, T(0), [](T a, T b) { return a + b; });
}

}  // namespace dashlm::cuda
