// Transposition by small squares in vector registers. With internal linkage, since files for
// different instruction sets include it.
#pragma once

#include <cstdint>

namespace dashlm::cpu {

constexpr int64_t kSquare = 8;

// to[j · to_stride + i] = from[i · from_stride + j] for i, j in [0, 8).
static inline void transpose_square(const float* from, int64_t from_stride, float* to,
                                    int64_t to_stride) {
  using Eight = float __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4)));
  Eight row[8], pairs[8], quads[8];
  for (int i = 0; i < 8; ++i) row[i] = *reinterpret_cast<const Unaligned*>(from + i * from_stride);
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      const Eight low = pairs[i + k], high = pairs[i + k + 2];
      quads[i + 2 * k] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
      quads[i + 2 * k + 1] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const Eight above = quads[i], below = quads[i + 4];
    *reinterpret_cast<Unaligned*>(to + i * to_stride) =
        __builtin_shufflevector(above, below, 0, 1, 2, 3, 8, 9, 10, 11);
    *reinterpret_cast<Unaligned*>(to + (i + 4) * to_stride) =
        __builtin_shufflevector(above, below, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// to[j · to_stride + i] = from[i · from_stride + j] for i < rows, j < cols. They must not overlap.
static inline void transpose(const float* from, int64_t from_stride, int64_t rows, int64_t cols,
                             float* to, int64_t to_stride) {
  const int64_t whole_rows = rows / kSquare * kSquare, whole_cols = cols / kSquare * kSquare;
  for (int64_t i = 0; i < whole_rows; i += kSquare) {
    for (int64_t j = 0; j < whole_cols; j += kSquare) {
      transpose_square(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < whole_rows ? whole_cols : 0; j < cols; ++j) {
      to[j * to_stride + i] = from[i * from_stride + j];
    }
  }
}

}  // namespace dashlm::cpu
