#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/blocks/cpu/block_kernels.h"

namespace dashlm::cpu {
namespace {

// Calls copy(flat offset, packed offset, elements) for each row of each block of a table.
template <class Copy>
void for_rows(const Tensor& table, const Copy& copy) {
  parallel_for(table.dim(0), [&](int64_t block) {
    const int64_t* entry = table.as<int64_t>() + kBlockTableColumns * block;
    const int64_t offset = entry[0], row_stride = entry[1], rows = entry[2], cols = entry[3];
    if (row_stride == cols) return copy(offset, entry[4], rows * cols);
    for (int64_t i = 0; i < rows; ++i) copy(offset + i * row_stride, entry[4] + i * cols, cols);
  });
}

// `count` elements, of whatever type both tensors have.
void copy_elements(const Tensor& to, int64_t to_begin, const Tensor& from, int64_t from_begin,
                   int64_t count) {
  const int64_t size = size_of(from.dtype);
  std::memcpy(static_cast<char*>(to.data) + to_begin * size,
              static_cast<const char*>(from.data) + from_begin * size,
              static_cast<size_t>(count * size));
}

}  // namespace

void gather_blocks(const Tensor& packed, const Tensor& flat, const Tensor& table) {
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_elements(packed, in_packed, flat, in_flat, count);
  });
}

void scatter_blocks(const Tensor& flat, const Tensor& packed, const Tensor& table) {
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_elements(flat, in_flat, packed, in_packed, count);
  });
}

}  // namespace dashlm::cpu
