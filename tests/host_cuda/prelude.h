// Included before every CUDA source that is compiled as C++ to run on the CPU: makes kernels plain
// functions, and provides the built-ins of device code. Only what dashlm's kernels use, with the
// checks that real devices lack: a warp operation ends the process unless the whole warp takes
// part.
//
// This layer is a test and no backend: it checks CUDA sources where there is no GPU, and would be
// useless to train with. So it lies in tests/, and no file of src/ includes it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>  // not <cmath>: device code uses the names of the global namespace

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_cuda/run.h"
#include "host_cuda/threads.h"

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __grid_constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __maxnreg__
#undef __cluster_dims__
#define __global__
#define __device__
#define __host__
#define __constant__
// One block runs at a time, so that its shared variables may be those of the process.
#define __shared__ static
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

#define threadIdx (::dashlm::host_cuda::position.thread)
#define blockIdx (::dashlm::host_cuda::position.block)
#define blockDim (::dashlm::host_cuda::position.block_size)
#define gridDim (::dashlm::host_cuda::position.grid_size)
#define warpSize (::dashlm::host_cuda::kWarpSize)

namespace dashlm::host_cuda {

// What shuffles exchange; the atomics' integers are the ones that CUDA has, not their synonyms.
template <class T>
concept Shuffled = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
concept Atomic = std::same_as<T, int> || std::same_as<T, unsigned> ||
    std::same_as<T, unsigned long long> || std::same_as<T, long long>;

template <Shuffled T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// The value of lane source(lane); a thread's own when that lies beyond `last` (or before 0).
template <Shuffled T>
T shuffle(unsigned mask, T value, int source, int last, int line) {
  const uint64_t* given = exchange_in_warp(mask, to_bits(value), line);
  if (source < 0 || source > last) return value;
  T result;
  std::memcpy(&result, &given[source], sizeof result);
  return result;
}

// The first and the last lane of the running thread's part of the warp.
inline int first_of(int width) {
  return lane_of_warp() & ~(width - 1);
}
inline int last_of(int width) {
  return first_of(width) + width - 1;
}

inline unsigned ballot(unsigned mask, int predicate, int line) {
  const uint64_t* given = exchange_in_warp(mask, predicate != 0, line);
  unsigned result = 0;
  for (int lane = 0; lane < lanes_of_warp(); ++lane) {
    result |= static_cast<unsigned>(given[lane]) << lane;
  }
  return result;
}

// Threads run one at a time and are not interrupted: nothing more is needed to be atomic.
template <class T, class Change>
T atomically(T* address, const Change& change) {
  const T old = *address;
  *address = change(old);
  return old;
}

// Keeps the compiler from fusing the operation that gave this with another.
template <class T>
T rounded(T value) {
  const volatile T kept = value;
  return kept;
}

}  // namespace dashlm::host_cuda

// Barriers. The line of a call is the place at which all must meet.

inline void __syncthreads(int line = __builtin_LINE()) {
  dashlm::host_cuda::synchronize_block(0, line);
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::synchronize_block(predicate, line).any;
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::synchronize_block(predicate, line).all;
}
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::synchronize_block(predicate, line).count;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  dashlm::host_cuda::exchange_in_warp(mask, 0, line);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// Warp operations.

template <dashlm::host_cuda::Shuffled T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, int line = __builtin_LINE()) {
  const int first = dashlm::host_cuda::first_of(width);
  return dashlm::host_cuda::shuffle(mask, value, first + (lane & (width - 1)), 31, line);
}
template <dashlm::host_cuda::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 int line = __builtin_LINE()) {
  const int source = dashlm::host_cuda::lane_of_warp() - static_cast<int>(delta);
  return dashlm::host_cuda::shuffle(
      mask, value, source < dashlm::host_cuda::first_of(width) ? -1 : source, 31, line);
}
template <dashlm::host_cuda::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   int line = __builtin_LINE()) {
  const int source = dashlm::host_cuda::lane_of_warp() + static_cast<int>(delta);
  return dashlm::host_cuda::shuffle(mask, value, source, dashlm::host_cuda::last_of(width), line);
}
template <dashlm::host_cuda::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, int line = __builtin_LINE()) {
  const int source = dashlm::host_cuda::lane_of_warp() ^ lanes;
  return dashlm::host_cuda::shuffle(mask, value, source, dashlm::host_cuda::last_of(width), line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::ballot(mask, predicate, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::ballot(mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return dashlm::host_cuda::ballot(mask, !predicate, line) == 0;
}

// Atomics on integers; those on floating point numbers are left out because sums would depend on
// the order of threads.

template <dashlm::host_cuda::Atomic T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T old) { return old + value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T old) { return old > value ? old : value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T old) { return old < value ? old : value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T old) { return old | value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T old) { return old & value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address, [&](T) { return value; });
}
template <dashlm::host_cuda::Atomic T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return dashlm::host_cuda::atomically(address,
                                       [&](T old) { return old == expected ? value : old; });
}

// Mathematics that the C library lacks, and bits of numbers.

template <class T>
requires std::is_arithmetic_v<T> T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
requires std::is_arithmetic_v<T> T max(T a, T b) {
  return a < b ? b : a;
}
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float __expf(float x) {
  return expf(x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __fadd_rn(float a, float b) {
  return dashlm::host_cuda::rounded(a + b);
}
inline float __fsub_rn(float a, float b) {
  return dashlm::host_cuda::rounded(a - b);
}
inline float __fmul_rn(float a, float b) {
  return dashlm::host_cuda::rounded(a * b);
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return dashlm::host_cuda::rounded(a + b);
}
inline double __dmul_rn(double a, double b) {
  return dashlm::host_cuda::rounded(a * b);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Product = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Product>(a) * b >> 64);
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
template <class T>
T __ldg(const T* address) {
  return *address;
}
