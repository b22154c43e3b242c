// Where the blocks of the flat parameters lie.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace dashlm {

// The place of a block in flat memory: element (i, j) is at offset + i · row_stride + j.
struct BlockPlace {
  int64_t offset = 0;
  int64_t row_stride = 0;
  int64_t rows = 0, cols = 0;

  int64_t elements() const { return rows * cols; }
};

// An entry of a table of blocks, (N, 5) i64: the place of a block, and where the block begins when
// all blocks of the table are packed one after another, each row-major without gaps.
//
// Operations on a stack (N, r, c), whose blocks have one shape and lie one after another, read the
// offset and the row_stride only. So such an operation on a part of the stack takes the same rows()
// of the table.
struct BlockEntry {
  int64_t offset, row_stride, rows, cols, packed;
};
constexpr int64_t kBlockTableColumns = 5;
static_assert(sizeof(BlockEntry) == kBlockTableColumns * sizeof(int64_t));

// The table of blocks at these places, on the host.
std::vector<int64_t> block_table(std::span<const BlockPlace> places);

// The entries of a table in the memory of its device.
inline const BlockEntry* entries_of(const ConstTensor& table) {
  return reinterpret_cast<const BlockEntry*>(table.as<int64_t>());
}

}  // namespace dashlm
