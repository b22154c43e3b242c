#include "ops/blocks/block_table.h"

namespace dashlm {

std::vector<int64_t> block_table(std::span<const BlockPlace> places) {
  std::vector<int64_t> table;
  int64_t packed = 0;
  for (const BlockPlace& place : places) {
    table.insert(table.end(), {place.offset, place.row_stride, place.rows, place.cols, packed});
    packed += place.elements();
  }
  return table;
}

}  // namespace dashlm
