// The code of micro_kernel.h, for the file that defines the size of a vector and of a tile:
//   DASHLM_VECTOR   floats in a vector register
//   DASHLM_ROWS     rows of a full tile
//   DASHLM_VECTORS  vectors in a row of a tile
// rows · vectors registers hold C; there must be some left for B and an element of A.
//
// Everything here has internal linkage: the same function compiled for two instruction sets must
// never be taken for one.
#include <utility>

#include "ops/core/cpu/micro_kernel.h"
#include "ops/core/cpu/transpose.h"

namespace dashlm::cpu {
namespace {

using Vector = float __attribute__((vector_size(4 * DASHLM_VECTOR)));
using UnalignedVector = float __attribute__((vector_size(4 * DASHLM_VECTOR), aligned(4)));

constexpr int kRowsOfTile = DASHLM_ROWS;
constexpr int kVectors = DASHLM_VECTORS;
constexpr int kColumns = DASHLM_VECTOR * kVectors;
static_assert(kRowsOfTile <= MicroKernel::kMostRows && kColumns <= MicroKernel::kMostColumns);

// The loops over rows and vectors must be unrolled, or C would not stay in registers.
template <int kRows, int kWidth>
void write_tile(const Vector (&sum)[kRows][kWidth], float alpha, float beta, float* c,
                int64_t c_stride) {
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) {
      auto* out = reinterpret_cast<UnalignedVector*>(c + i * c_stride + j * DASHLM_VECTOR);
      if (beta == 0.0f) {
        *out = alpha * sum[i][j];
      } else {
        *out = beta * *out + alpha * sum[i][j];
      }
    }
  }
}

// C is needed only after all terms: by then it can be in the L1 cache.
template <int kRows, int kWidth>
void prefetch_tile(const float* c, int64_t c_stride) {
  constexpr int kLine = 16;  // floats in a cache line
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kWidth * DASHLM_VECTOR; j += kLine) {
      __builtin_prefetch(c + i * c_stride + j, 1);
    }
  }
}

// kWidth: vectors in a row.
template <int kRows, int kWidth, OperandOrder kOrder>
void tile_product(int64_t k, float alpha, const float* a, int64_t a_stride, const float* b,
                  float beta, float* c, int64_t c_stride) {
  prefetch_tile<kRows, kWidth>(c, c_stride);
  Vector sum[kRows][kWidth] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector row_of_b[kWidth];
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) {
      row_of_b[j] = reinterpret_cast<const Vector*>(b + p * kColumns)[j];
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float element =
          kOrder == OperandOrder::by_row ? a[i * a_stride + p] : a[p * a_stride + i];
#pragma GCC unroll 4
      for (int j = 0; j < kWidth; ++j) sum[i][j] += element * row_of_b[j];
    }
  }
  write_tile<kRows, kWidth>(sum, alpha, beta, c, c_stride);
}

// A constant number of elements, which needs no call.
template <int kCount>
void copy(float* to, const float* from) {
  __builtin_memcpy(to, from, sizeof(float) * kCount);
}

void pack_by_depth(const float* a, int64_t stride, int64_t terms, int64_t rows, float* to,
                   int64_t step) {
  const int64_t whole = rows / kRowsOfTile * kRowsOfTile;
  for (int64_t p = 0; p < terms; ++p) {
    const float* from = a + p * stride;
    float* tile = to + p * kRowsOfTile;
    for (int64_t i = 0; i < whole; i += kRowsOfTile) {
      copy<kRowsOfTile>(tile, from + i);
      tile += step;
    }
    for (int64_t i = whole; i < rows; ++i) tile[i - whole] = from[i];
  }
}

void pack_columns(const float* b, int64_t stride, int64_t terms, int64_t columns, float* to) {
  for (int64_t p = 0; p < terms; ++p) {
    const float* from = b + p * stride;
    float* row = to + p * kColumns;
    if (columns >= kColumns) {
      copy<kColumns>(row, from);
      continue;
    }
    for (int64_t j = 0; j < kColumns; ++j) row[j] = j < columns ? from[j] : 0.0f;
  }
}

void pack_transposed(const float* b, int64_t stride, int64_t terms, int64_t columns, float* to) {
  if (columns >= kColumns) return transpose(b, stride, kColumns, terms, to, kColumns);
  for (int64_t i = 0; i < terms * kColumns; ++i) to[i] = 0.0f;
  transpose(b, stride, columns, terms, to, kColumns);
}

template <int... kLess>
constexpr MicroKernel make_micro_kernel(std::integer_sequence<int, kLess...>) {
  return {kRowsOfTile,
          kColumns,
          {{tile_product<kLess + 1, kVectors, OperandOrder::by_row>...},
           {tile_product<kLess + 1, kVectors, OperandOrder::by_depth>...}},
          {{tile_product<kLess + 1, kVectors / 2, OperandOrder::by_row>...},
           {tile_product<kLess + 1, kVectors / 2, OperandOrder::by_depth>...}},
          pack_by_depth,
          pack_columns,
          pack_transposed};
}

constexpr MicroKernel kKernel = make_micro_kernel(std::make_integer_sequence<int, kRowsOfTile>());

}  // namespace
}  // namespace dashlm::cpu
