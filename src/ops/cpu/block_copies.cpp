#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/cpu/block_kernels.h"

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

void copy_floats(float* to, const float* from, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

void gather_blocks(const Tensor& packed, const Tensor& flat, const Tensor& table) {
  float* to = packed.f32();
  const float* from = flat.f32();
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_floats(to + in_packed, from + in_flat, count);
  });
}

void scatter_blocks(const Tensor& flat, const Tensor& packed, const Tensor& table) {
  float* to = flat.f32();
  const float* from = packed.f32();
  for_rows(table, [&](int64_t in_flat, int64_t in_packed, int64_t count) {
    copy_floats(to + in_flat, from + in_packed, count);
  });
}

}  // namespace dashlm::cpu
