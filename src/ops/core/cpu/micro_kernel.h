// The innermost loop of matrix products: one tile of C, kept in registers from the first term to
// the last. It is compiled once for each instruction set, and chosen when the program runs.
#pragma once

#include <cstdint>

#include "device/cpu/instruction_set.h"

namespace dashlm::cpu {

constexpr int64_t kDepth = 256;  // terms that a tile adds up at most, before C is written

// The layout in memory of the rows of A that a tile needs. Row i, term p is at
enum class OperandOrder {
  by_row,    // i · stride + p
  by_depth,  // p · stride + i
};

// One tile: C = alpha · A·B + beta · C for A (rows, k), B (k, columns), C (rows, columns). The
// rows of B follow one another, aligned to vectors. Where beta is 0, C is not read. The k terms of
// an element are added one after the other, in every kernel and for every number of rows alike.
using TileProduct = void (*)(int64_t k, float alpha, const float* a, int64_t a_stride,
                             const float* b, float beta, float* c, int64_t c_stride);

struct MicroKernel {
  static constexpr int64_t kMostRows = 8;
  static constexpr int64_t kMostColumns = 32;

  int64_t rows, columns;  // of a full tile
  // [order][r - 1]: for r rows. A narrow tile computes the first half of the columns only.
  TileProduct tiles[2][kMostRows];
  TileProduct narrow_tiles[2][kMostRows];

  // Tiles (terms, rows of a tile), one every `step` floats, from A transposed: (terms, rows) inside
  // a matrix.
  void (*pack_by_depth)(const float* a, int64_t stride, int64_t terms, int64_t rows, float* to,
                        int64_t step);
  // to (terms, columns of a tile) from B (terms, columns) inside a matrix, or from B transposed.
  // Columns that B lacks become zero.
  void (*pack_columns)(const float* b, int64_t stride, int64_t terms, int64_t columns, float* to);
  void (*pack_transposed)(const float* b, int64_t stride, int64_t terms, int64_t columns,
                          float* to);
};

extern const MicroKernel kBaselineMicroKernel;
#ifdef __x86_64__
extern const MicroKernel kAvx2MicroKernel;
extern const MicroKernel kAvx512MicroKernel;
#endif

// The kernel of instruction_set().
const MicroKernel& micro_kernel();

}  // namespace dashlm::cpu
