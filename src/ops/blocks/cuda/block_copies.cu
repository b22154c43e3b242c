#include "ops/blocks/backends.h"
#include "ops/core/cuda/load_store.cuh"
#include "ops/stacks/cuda/stack_walk.cuh"

namespace dashlm::cuda {
namespace {

enum class Copy { gather, scatter };

template <Copy kCopy, class T>
__global__ void copy_elements(T* __restrict__ to, const T* __restrict__ from,
                              const BlockEntry* table, int64_t blocks) {
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const auto [offset, row_stride, rows, cols, begin] = table[block];
    if (cols == 0) continue;
    for (Walk at(cols); at.element < rows * cols; at.next()) {
      const int64_t in_flat = offset + at.row * row_stride + at.col, in_packed = begin + at.element;
      if constexpr (kCopy == Copy::gather) {
        to[in_packed] = from[in_flat];
      } else {
        to[in_flat] = from[in_packed];
      }
    }
  }
}

// Blocks of all sizes: as much of the grid for each as the average one needs.
template <Copy kCopy>
void copy_blocks(Context& context, const Tensor& to, const ConstTensor& from,
                 const ConstTensor& packed, const ConstTensor& table) {
  const int64_t blocks = table.dim(0);
  if (blocks == 0) return;
  with_type(to, [&]<class T>(T) {
    launch(context, copy_elements<kCopy, T>,
           for_stack(blocks, divide_up(packed.elements(), blocks)), to.as<T>(), from.as<T>(),
           entries_of(table), blocks);
  });
}

__global__ void pack(float* __restrict__ stack, const float* __restrict__ flat,
                     const BlockEntry* table, int64_t blocks, int64_t elements, int64_t cols,
                     float scale) {
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const int64_t offset = table[block].offset, row_stride = table[block].row_stride;
    for (Walk at(cols); at.element < elements; at.next()) {
      stack[block * elements + at.element] = scale * flat[offset + at.row * row_stride + at.col];
    }
  }
}

}  // namespace

void gather_blocks(Context& context, const Tensor& packed, const ConstTensor& flat,
                   const ConstTensor& table) {
  copy_blocks<Copy::gather>(context, packed, flat, packed, table);
}

void scatter_blocks(Context& context, const Tensor& flat, const ConstTensor& packed,
                    const ConstTensor& table) {
  copy_blocks<Copy::scatter>(context, flat, packed, packed, table);
}

void pack_blocks(Context& context, const Tensor& stack, const ConstTensor& flat,
                 const ConstTensor& table, float scale) {
  const int64_t blocks = stack.dim(0), cols = stack.dim(2), elements = stack.dim(1) * cols;
  launch(context, pack, for_stack(blocks, elements), stack.f32(), flat.f32(), entries_of(table),
         blocks, elements, cols, scale);
}

}  // namespace dashlm::cuda
