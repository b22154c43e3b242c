// Reads and writes elements of f32 and bf16 tensors in kernels, as floats: alone, or in groups that
// are moved by 16-byte accesses where memory allows it. Also turns a tensor's type into a kernel's
// template argument.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "ops/core/cuda/support.cuh"
#include "tensor/tensor.h"

namespace dashlm {

template <>
constexpr DType dtype_of<__nv_bfloat16>() {
  return DType::bf16;
}

}  // namespace dashlm

namespace dashlm::cuda {

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

// Rounds to nearest, ties to even.
__device__ inline void store(float* to, float x) {
  *to = x;
}
__device__ inline void store(__nv_bfloat16* to, float x) {
  *to = __float2bfloat16_rn(x);
}

// --- Groups of neighbouring elements, one to a thread

constexpr int kGroup = 8;        // 16 bytes of bf16
constexpr int kGroupBytes = 16;  // by which the memory of groups is aligned

// Calls act(k) for every element of a group.
template <class Act>
__device__ inline void each(const Act& act) {
#pragma unroll
  for (int k = 0; k < kGroup; ++k) act(k);
}

struct Group {
  float at[kGroup];
};

// A group in memory.
template <class T>
struct alignas(kGroupBytes) StoredGroup {
  T at[kGroup];
};

// The group that begins at `from`, of which `count` elements exist; the others become `rest`. With
// `aligned`, `from` is a multiple of kGroupBytes.
template <class T>
__device__ inline Group load_group(const T* from, int64_t count, bool aligned, float rest = 0) {
  Group group;
  if (aligned && count >= kGroup) {
    const StoredGroup<T> stored = *reinterpret_cast<const StoredGroup<T>*>(from);
    each([&](int k) { group.at[k] = to_float(stored.at[k]); });
  } else {
    each([&](int k) { group.at[k] = k < count ? to_float(from[k]) : rest; });
  }
  return group;
}

template <class T>
__device__ inline void store_group(T* to, const Group& group, int64_t count, bool aligned) {
  if (aligned && count >= kGroup) {
    StoredGroup<T> stored;
    each([&](int k) { store(&stored.at[k], group.at[k]); });
    *reinterpret_cast<StoredGroup<T>*>(to) = stored;
  } else {
    each([&](int k) {
      if (k < count) store(to + k, group.at[k]);
    });
  }
}

// Whether all groups may be moved as a whole in arrays that begin at these addresses (null: no
// array) and have rows of `width` elements without gaps.
template <class... T>
bool groups_aligned(int64_t width, const T*... arrays) {
  const uintptr_t bits = (reinterpret_cast<uintptr_t>(arrays) | ...);
  return width % kGroup == 0 && bits % kGroupBytes == 0;
}

// For kernels that give each row to a block, in groups. The block's size depends on the row's width
// alone, and so does the order of sums over a row.
inline LaunchShape for_rows(int64_t rows, int64_t width, int64_t most_blocks = 4096) {
  return {dim3(static_cast<unsigned>(std::min(rows, most_blocks))),
          dim3(threads_for(divide_up(width, kGroup)))};
}

// This thread's first element of a row and its step in such a kernel.
__device__ inline int64_t first_in_row() {
  return static_cast<int64_t>(threadIdx.x) * kGroup;
}
__device__ inline int64_t step_in_row() {
  return static_cast<int64_t>(blockDim.x) * kGroup;
}

// --- From types of tensors to template arguments

// Calls act(T()) for the type T of the tensor's elements.
template <class Act>
void with_type(const ConstTensor& x, const Act& act) {
  if (x.dtype == DType::f32) return act(float());
  if (x.dtype == DType::bf16) return act(__nv_bfloat16());
  fail_runtime("{} must be f32 or bf16", x.text());
}

// Calls act(W(), N()) for the types of two tensors. `wide` has the type of `narrow` or a wider
// type.
template <class Act>
void with_types(const ConstTensor& wide, const ConstTensor& narrow, const Act& act) {
  with_type(wide, [&]<class W>(W) {
    with_type(narrow, [&]<class N>(N) {
      if constexpr (sizeof(W) < sizeof(N)) {
        fail_runtime("{} must not be of a narrower type than {}", wide.text(), narrow.text());
      } else {
        act(W(), N());
      }
    });
  });
}

}  // namespace dashlm::cuda
