#include "ops/core/cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/micro_kernel.h"
#include "ops/core/cpu/transpose.h"

namespace dashlm::cpu {
namespace {

// A band of A, kDepth terms of it, is packed at once: 136 KiB, for a thread's L2 cache.
constexpr int64_t kBandRows = 128;
// From one packed row to the next: an odd number of cache lines, so that the rows of a tile, and
// the tiles that are packed side by side, do not compete for the same set of the cache.
constexpr int64_t kPackedRow = kDepth + 16;
// As much of B is packed at once, for the L3 cache: 4 MiB of at most so many terms.
constexpr int64_t kMostPacked = 1 << 20;
constexpr int64_t kMostTerms = 1 << 13;

// Memory for packed operands: a thread's own, taken at its first product. Only what is written to
// counts as used.
class Buffer {
 public:
  explicit Buffer(int64_t floats) : size_(floats) {}
  float* memory() {
    if (!memory_) memory_.reset(new (kAlignment) float[static_cast<size_t>(size_)]);
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { operator delete[](memory, kAlignment); }
  };
  const int64_t size_;
  std::unique_ptr<float[], Free> memory_;
};
thread_local Buffer packed_a((kBandRows + MicroKernel::kMostRows) * kPackedRow);
thread_local Buffer packed_b(kMostPacked);

// Threads for so many multiply-adds: one where others are at work already, or where waiting for
// each other would take longer than the product.
int64_t threads_for(int64_t multiply_adds) {
  return omp_in_parallel() || multiply_adds < kWorthSharing ? 1 : max_threads();
}

struct Product {
  int64_t m, n, k;
  float alpha;
  ConstMatrix a, b;
  float beta;
  Matrix c;
  bool lower = false;  // only what is needed of the lower triangle
  int64_t threads = threads_for(m * n * k);
};

// A part of a product, whose share of B is packed at once: columns [column, column + columns) of C,
// terms [depth, depth + terms).
struct Slice {
  int64_t column, columns, depth, terms;
};

template <class Body>
void share_out(int64_t threads, int64_t count, const Body& body) {
  if (threads > 1 && count > 1) return parallel_for(count, body);
  for (int64_t i = 0; i < count; ++i) body(i);
}

// --- Packing

// A slice of B in panels as wide as a tile, (terms, columns of a tile) each.
struct Panels {
  const float* data;
  int64_t terms;  // of a panel, of which a product may need the first only
};

// `columns` of B in all: the last panel may have fewer than the others.
void pack_panel(const ConstMatrix& b, const Slice& slice, int64_t columns, int64_t panel,
                float* packed) {
  const MicroKernel& kernel = micro_kernel();
  const int64_t first = panel * kernel.columns, column = slice.column + first;
  float* to = packed + first * slice.terms;
  if (b.transposed) {
    const float* from = b.data + column * b.stride + slice.depth;
    kernel.pack_transposed(from, b.stride, slice.terms, columns - column, to);
  } else {
    const float* from = b.data + slice.depth * b.stride + column;
    kernel.pack_columns(from, b.stride, slice.terms, columns - column, to);
  }
}

Panels pack_b(const Product& product, const Slice& slice, const MicroKernel& kernel) {
  float* packed = packed_b.memory();
  const int64_t panels = (slice.columns + kernel.columns - 1) / kernel.columns;
  share_out(product.threads, panels,
            [&](int64_t panel) { pack_panel(product.b, slice, product.n, panel, packed); });
  return {packed, slice.terms};
}

// A band of A: rows [row, row + rows), `terms` terms.
struct Band {
  int64_t row, rows, terms;
  const float* data;
  int64_t tile_rows, tile_step;  // rows of a full tile, and floats from one to the next
  int64_t stride;                // of TileProduct
  OperandOrder order;

  const float* from_row(int64_t i) const { return data + (i - row) / tile_rows * tile_step; }
};

// Whether tiles may read A where it lies. Transposed, its terms must be near to one another; else
// its rows must not begin at like addresses, so that they compete for the same sets of the caches.
bool is_read_in_place(const ConstMatrix& a) {
  constexpr int64_t kNear = 256, kLike = 1024;  // floats
  return a.transposed ? a.stride <= kNear : a.stride % kLike != 0;
}

Band band_of_a(const Product& product, int64_t row, int64_t rows, int64_t depth, int64_t terms,
               const MicroKernel& kernel) {
  const ConstMatrix& a = product.a;
  const OperandOrder order = a.transposed ? OperandOrder::by_depth : OperandOrder::by_row;
  const float* from = a.data + (a.transposed ? depth * a.stride + row : row * a.stride + depth);
  if (is_read_in_place(a)) {
    const int64_t step = kernel.rows * (a.transposed ? 1 : a.stride);
    return {row, rows, terms, from, kernel.rows, step, a.stride, order};
  }
  const int64_t step = kernel.rows * kPackedRow;
  float* packed = packed_a.memory();
  if (a.transposed) {
    kernel.pack_by_depth(from, a.stride, terms, rows, packed, step);
    return {row, rows, terms, packed, kernel.rows, step, kernel.rows, order};
  }
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(from + i * a.stride, terms, packed + i * kPackedRow);
  }
  return {row, rows, terms, packed, kernel.rows, step, kPackedRow, order};
}

// --- Tiles

// A tile of C, `cols` of its `width` columns within C.
struct Tile {
  float* c;
  int64_t c_stride, rows, cols, width;
  TileProduct product;
};

void compute_tile(const Tile& tile, const Band& band, int64_t row, float alpha, const float* b,
                  float beta) {
  const float* a = band.from_row(row);
  if (tile.cols == tile.width) {
    return tile.product(band.terms, alpha, a, band.stride, b, beta, tile.c, tile.c_stride);
  }
  // It reaches over the right edge: computed beside C.
  alignas(64) float beside[MicroKernel::kMostRows * MicroKernel::kMostColumns] = {};
  for (int64_t i = 0; beta != 0.0f && i < tile.rows; ++i) {
    std::copy_n(tile.c + i * tile.c_stride, tile.cols, beside + i * tile.width);
  }
  tile.product(band.terms, alpha, a, band.stride, b, beta, beside, tile.width);
  for (int64_t i = 0; i < tile.rows; ++i) {
    std::copy_n(beside + i * tile.width, tile.cols, tile.c + i * tile.c_stride);
  }
}

// The tiles of a band in columns [begin, end) of C; `panels` has the band's terms of B, from column
// `begin` on, a panel every `panel_size` floats.
void multiply_band(const Product& product, const Band& band, int64_t begin, int64_t end,
                   const float* panels, int64_t panel_size, float beta, const MicroKernel& kernel) {
  const int64_t band_end = band.row + band.rows;
  const auto order = static_cast<size_t>(band.order);
  for (int64_t column = begin; column < end; column += kernel.columns) {
    // Above the diagonal nothing is wanted, but tiles stay where they are.
    const int64_t above = product.lower ? std::max<int64_t>(0, column - band.row) : 0;
    const int64_t first = band.row + above / kernel.rows * kernel.rows;
    for (int64_t row = first; row < band_end; row += kernel.rows) {
      const int64_t rows = std::min(kernel.rows, band_end - row);
      const bool narrow = product.lower && row + rows <= column + kernel.columns / 2;
      const auto& tiles = narrow ? kernel.narrow_tiles : kernel.tiles;
      const Tile tile{product.c.data + row * product.c.stride + column,
                      product.c.stride,
                      rows,
                      std::min(kernel.columns, product.n - column),
                      kernel.columns,
                      tiles[order][rows - 1]};
      compute_tile(tile, band, row, product.alpha, panels, beta);
    }
    panels += panel_size;
  }
}

// How a slice is shared out: bands of rows, and groups of columns where there are few bands.
struct Cut {
  int64_t rows, columns;
  int64_t bands, groups;

  Cut(const Product& product, const Slice& slice, int64_t width)
      : rows(kBandRows), columns((slice.columns + width - 1) / width * width) {
    constexpr int64_t kFewestRows = 32, kFewestPanels = 4;
    const int64_t wanted = product.threads > 1 ? kPartsForThread * product.threads : 1;
    count(product.m, slice.columns);
    // Each group of columns packs the bands again, so shorter bands come first.
    while (bands * groups < wanted && rows > kFewestRows) {
      rows /= 2;
      count(product.m, slice.columns);
    }
    while (bands * groups < wanted && !product.lower && columns > kFewestPanels * width) {
      columns = (columns / 2 + width - 1) / width * width;
      count(product.m, slice.columns);
    }
  }

  void count(int64_t m, int64_t n) {
    bands = (m + rows - 1) / rows;
    groups = (n + columns - 1) / columns;
  }
};

// Rows [row, row + rows) and columns [begin, end) of C, all terms of the slice.
void multiply_part(const Product& product, const Slice& slice, const Panels& panels, int64_t row,
                   int64_t rows, int64_t begin, int64_t end, const MicroKernel& kernel) {
  const float* first = panels.data + (begin - slice.column) * panels.terms;
  int64_t done = 0;
  do {  // once at least: without terms C is beta · C
    const int64_t depth = slice.depth + done, terms = std::min(kDepth, slice.terms - done);
    const Band band = band_of_a(product, row, rows, depth, terms, kernel);
    multiply_band(product, band, begin, end, first + done * kernel.columns,
                  panels.terms * kernel.columns, depth == 0 ? product.beta : 1.0f, kernel);
    done += kDepth;
  } while (done < slice.terms);
}

void multiply_slice(const Product& product, const Slice& slice, const Panels& panels,
                    const MicroKernel& kernel) {
  const Cut cut(product, slice, kernel.columns);
  share_out(product.threads, cut.bands * cut.groups, [&](int64_t item) {
    // The bands at the bottom first: of a triangle they are the longest.
    const int64_t row = (cut.bands - 1 - item / cut.groups) * cut.rows;
    const int64_t rows = std::min(cut.rows, product.m - row);
    const int64_t begin = slice.column + item % cut.groups * cut.columns;
    int64_t end = std::min(begin + cut.columns, slice.column + slice.columns);
    if (product.lower) end = std::min(end, row + rows);
    if (begin < end) multiply_part(product, slice, panels, row, rows, begin, end, kernel);
  });
}

void multiply(const Product& product) {
  const MicroKernel& kernel = micro_kernel();
  const int64_t terms = std::clamp<int64_t>(product.k, 1, kMostTerms);
  const int64_t columns =
      kMostPacked / terms / MicroKernel::kMostColumns * MicroKernel::kMostColumns;
  for (int64_t column = 0; column < product.n; column += columns) {
    for (int64_t depth = 0; depth < std::max<int64_t>(product.k, 1); depth += terms) {
      const Slice slice{column, std::min(columns, product.n - column), depth,
                        std::min(terms, product.k - depth)};
      multiply_slice(product, slice, pack_b(product, slice, kernel), kernel);
    }
  }
}

// Copies the lower triangle to the upper one.
void mirror(int64_t n, int64_t threads, Matrix c) {
  constexpr int64_t kTile = 64;  // 16 KiB: both tiles stay in the L1 cache
  const int64_t tiles = (n + kTile - 1) / kTile;
  share_out(threads, tiles, [&](int64_t tile) {
    const int64_t begin = (tiles - 1 - tile) * kTile, end = std::min(begin + kTile, n);
    for (int64_t j = 0; j < begin; j += kTile) {
      transpose(c.data + begin * c.stride + j, c.stride, end - begin, kTile,
                c.data + j * c.stride + begin, c.stride);
    }
    for (int64_t i = begin; i < end; i += kSquare) {
      const int64_t rows = std::min(kSquare, end - i);
      transpose(c.data + i * c.stride + begin, c.stride, rows, i - begin,
                c.data + begin * c.stride + i, c.stride);
      for (int64_t r = i; r < i + rows; ++r) {
        for (int64_t q = i; q < r; ++q) c.data[q * c.stride + r] = c.data[r * c.stride + q];
      }
    }
  });
}

}  // namespace

void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b, float beta,
          Matrix c) {
  multiply({m, n, k, alpha, a, b, beta, c});
}

int64_t PackedMatrix::floats(int64_t k, int64_t n) {
  const int64_t width = micro_kernel().columns;
  return (n + width - 1) / width * width * k;
}

PackedMatrix::PackedMatrix(float* memory, int64_t k, int64_t n, ConstMatrix b)
    : data_(memory), terms_(k) {
  const int64_t width = micro_kernel().columns;
  for (int64_t panel = 0; panel * width < n; ++panel) pack_panel(b, {0, n, 0, k}, n, panel, memory);
}

void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, const PackedMatrix& b,
          float beta, Matrix c) {
  multiply_slice({m, n, k, alpha, a, {}, beta, c}, {0, n, 0, k}, {b.data(), b.terms()},
                 micro_kernel());
}

void symmetric_gemm(int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b, float beta,
                    Matrix c) {
  multiply({n, n, k, alpha, a, b, beta, c, true});
  mirror(n, threads_for(n * n * k), c);
}

}  // namespace dashlm::cpu
