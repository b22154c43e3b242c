#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/blocks/backends.h"

namespace dashlm::cpu {
namespace {

// Calls copy(flat offset, packed offset, elements) for each row of each block of a table.
template <class Copy>
void for_rows(const ConstTensor& table, const Copy& copy) {
  parallel_for(table.dim(0), [&](int64_t block) {
    const auto [offset, row_stride, rows, cols, packed] = entries_of(table)[block];
    if (row_stride == cols) return copy(offset, packed, rows * cols);
    for (int64_t i = 0; i < rows; ++i) copy(offset + i * row_stride, packed + i * cols, cols);
  });
}

// `count` elements, of whatever type both tensors have.
void copy_elements(const Tensor& to, int64_t to_begin, const ConstTensor& from, int64_t from_begin,
                   int64_t count) {
  const int64_t size = size_of(from.dtype);
  std::memcpy(static_cast<char*>(to.data) + to_begin * size,
              static_cast<const char*>(from.data) + from_begin * size,
              static_cast<size_t>(count * size));
}

}  // namespace

void gather_blocks(Context&, const Tensor& packed, const ConstTensor& flat,
                   const ConstTensor& table) {
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_elements(packed, in_packed, flat, in_flat, count);
  });
}

void scatter_blocks(Context&, const Tensor& flat, const ConstTensor& packed,
                    const ConstTensor& table) {
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_elements(flat, in_flat, packed, in_packed, count);
  });
}

void pack_blocks(Context&, const Tensor& stack, const ConstTensor& flat, const ConstTensor& table,
                 float scale) {
  const int64_t rows = stack.dim(1), cols = stack.dim(2);
  float* to = stack.f32();
  const float* from = flat.f32();
  parallel_for(stack.dim(0), [&](int64_t block) {
    const BlockEntry& entry = entries_of(table)[block];
    for (int64_t i = 0; i < rows; ++i) {
      const float* source = from + entry.offset + i * entry.row_stride;
      float* target = to + (block * rows + i) * cols;
      for (int64_t j = 0; j < cols; ++j) target[j] = scale * source[j];
    }
  });
}

}  // namespace dashlm::cpu
