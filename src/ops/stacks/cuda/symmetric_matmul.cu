// Products that are symmetric: the lower triangle, in bands of rows that each end at the diagonal,
// is computed by gemm.h, and then mirrored. The kernel that mirrors also writes what later products
// need, so that nobody goes through the matrices once more.
//
// Products of stacks take in all blocks, active or not: which are active is known only on the
// device. What was computed for the others is dropped by the kernel that mirrors.
#include "ops/roots/cuda/newton_test.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"
#include "ops/stacks/cuda/stack_operands.cuh"

namespace dashlm::cuda {
namespace {

// --- The lower triangle

// Rows of C that are computed by one product. More bands save operations, down to half of them, but
// each reads its part of B again, which counts the more the faster the products. Multiples of 64,
// so that bands are aligned as well as the matrix.
int64_t band_rows(int64_t n, MatmulPrecision precision) {
  constexpr int64_t kMostBands = 8;
  const int64_t least = precision == MatmulPrecision::fp32 ? 128 : 512;
  const int64_t bands = std::clamp<int64_t>(n / least, 1, kMostBands);
  return divide_up(divide_up(n, bands), 64) * 64;
}

// C = alpha·op(A)·op(B) + beta·addend for stacks of C (n, n), in the lower triangle and a little
// above.
void lower_product(CudaDevice& device, MatmulPrecision precision, const GemmShape& shape,
                   const GemmScale& scale, const GemmOperand& a, const GemmOperand& b,
                   const GemmResult& c) {
  const bool wide = precision == MatmulPrecision::fp32 || precision == MatmulPrecision::tf32;
  const int64_t rows = band_rows(shape.n, precision);
  for (int64_t begin = 0; begin < shape.n; begin += rows) {
    const int64_t end = std::min(begin + rows, shape.n);
    GemmOperand band = a;
    const int64_t skipped = a.transposed ? begin : begin * a.row_stride;
    band.data = static_cast<const char*>(a.data) + skipped * (wide ? 4 : 2);
    GemmResult part = c;
    const int64_t above = begin * c.row_stride * size_of(c.type);
    part.c = static_cast<char*>(c.c) + above;
    if (c.addend) part.addend = static_cast<const char*>(c.addend) + above;
    gemm(device, precision, {shape.stack, end - begin, end, shape.k}, scale, band, b, part);
  }
}

GemmResult result_of(const Tensor& c, const Tensor& addend) {
  return {.c = c.data,
          .row_stride = c.dim(2),
          .stride = c.dim(1) * c.dim(2),
          .addend = addend.data,
          .type = c.dtype};
}

// --- Mirrored

// The product: lower triangles of type P in rows of `row_stride` elements.
template <class P>
struct Lower {
  const P* product;
  int64_t row_stride;
  int64_t blocks, n;
  const int32_t* state = nullptr;  // null: all blocks are active
};

// A SymmetricStack in a kernel; null: not wanted. Where the product was computed in place its lower
// triangle need not be written.
template <class T>
struct Stored {
  float* values = nullptr;
  T* rounded = nullptr;
  int64_t n = 0, stride = 0;
  bool has_lower_values = false, has_lower_copy = false;

  // Element (row, j) of all rows of the stack.
  __device__ void put(int64_t row, int64_t j, float x, bool lower) const {
    if (values && !(lower && has_lower_values)) values[row * n + j] = x;
    if (rounded && !(lower && has_lower_copy)) round_to(rounded[row * stride + j], x);
  }
};

// What becomes of an element of the product: it is stored. Blocks that are not active become those
// of `inactive`, or stay if it is null.
template <class T>
struct Keep {
  Stored<T> c;
  float diagonal;  // added to the product's
  const float* inactive;

  __device__ int32_t put(int64_t s, int64_t i, int64_t j, float x, bool lower) const {
    if (i == j && diagonal != 0.0f) x += diagonal;
    c.put(s * c.n + i, j, x, lower);
    return 0;
  }
  __device__ bool copies() const { return inactive != nullptr; }
  __device__ void copy(int64_t s, int64_t i, int64_t j) const {
    const int64_t row = s * c.n + i;
    c.put(row, j, inactive[row * c.n + j], false);
  }
  __device__ void finish(int64_t, int32_t) const {}
};

// Or it is stored and corrected, see newton_correction(); the bits of its magnitude count.
template <class T>
struct Correct {
  Stored<T> m, n;
  float a, b;
  int32_t* largest;  // (S)

  __device__ int32_t put(int64_t s, int64_t i, int64_t j, float x, bool lower) const {
    const int64_t row = s * n.n + i;
    m.put(row, j, x, lower);
    n.put(row, j, i == j ? a + b * x : b * x, lower);
    return magnitude_bits(i == j ? x - 1.0f : x);
  }
  __device__ bool copies() const { return false; }
  __device__ void copy(int64_t, int64_t, int64_t) const {}
  __device__ void finish(int64_t s, int32_t most) const { atomicMax(largest + s, most); }
};

// One thread block per tile of kTile², those above the diagonal of active blocks having nothing to
// do: the tiles below it fill theirs.
template <class P, class Fate>
__global__ void mirror_tiles(Lower<P> lower, Fate fate) {
  __shared__ float tile[kTile][kTile + 1];  // a column more: columns lie in different banks
  __shared__ int32_t largest[kTileRows];    // of each warp
  const int64_t n = lower.n, tiles = (n + kTile - 1) / kTile;
  const int x = static_cast<int>(threadIdx.x);
  for (int64_t item = blockIdx.x; item < lower.blocks * tiles * tiles; item += gridDim.x) {
    const int64_t s = item / (tiles * tiles);
    const int64_t i0 = item / tiles % tiles * kTile, j0 = item % tiles * kTile;
    if (lower.state && !(lower.state[s] & kActive)) {
      for (int y = static_cast<int>(threadIdx.y); y < kTile && fate.copies(); y += kTileRows) {
        if (i0 + y < n && j0 + x < n) fate.copy(s, i0 + y, j0 + x);
      }
      continue;
    }
    if (j0 > i0) continue;
    const P* from = lower.product + s * n * lower.row_stride;
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (i0 + y < n && j0 + x < n) {
        tile[y][x] = static_cast<float>(from[(i0 + y) * lower.row_stride + j0 + x]);
      }
    }
    __syncthreads();
    const bool below = j0 < i0;
    int32_t most = 0;
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (i0 + y < n && j0 + x < n) {
        const float value = !below && x > y ? tile[x][y] : tile[y][x];
        most = Larger()(most, fate.put(s, i0 + y, j0 + x, value, below));
      }
      if (below && j0 + y < n && i0 + x < n) fate.put(s, j0 + y, i0 + x, tile[x][y], false);
    }
    most = warp_reduce(most, Larger());
    if (x == 0) largest[threadIdx.y] = most;
    __syncthreads();  // and before the next item overwrites the tile
    if (x == 0 && threadIdx.y == 0) {
      for (const int32_t other : largest) most = Larger()(most, other);
      fate.finish(s, most);
    }
  }
}

// units (S): the largest magnitude of a block's weights rounded down to a power of two, not below
// the least normal number, so that it may divide; 1 for blocks that are not active. Infinite where
// a weight is not finite, which makes the root fail.
__global__ void weight_units(float* units, const float* weights, const int32_t* state,
                             int64_t blocks, int64_t n) {
  constexpr int32_t kExponent = 0x7F800000, kLeast = 0x00800000;
  for (int64_t s = first_of_warp(); s < blocks; s += warp_step()) {
    int32_t unit = kLeast;
    for (int64_t i = lane_of_warp(); i < n; i += kWarp) {
      unit = Larger()(unit, magnitude_bits(weights[s * n + i]) & kExponent);
    }
    unit = warp_reduce(unit, Larger());
    if (lane_of_warp() == 0) {
      units[s] = state[s] & kActive ? __uint_as_float(static_cast<uint32_t>(unit)) : 1.0f;
    }
  }
}

// Row i of `in` times weights[i], over all rows of a stack; with units (S), divided by its block's
// and rounded. Rows of `out` are `stride` elements apart.
template <class T>
__global__ void scale_rows(T* out, const float* in, const float* weights, const float* units,
                           int64_t rows, int64_t n, int64_t stride) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileRows + threadIdx.y;
  for (int64_t row = first; row < rows; row += static_cast<int64_t>(gridDim.x) * kTileRows) {
    const float weight = units ? weights[row] / units[row / n] : weights[row];
    for (int64_t j = threadIdx.x; j < n; j += kTile) {
      const float x = in[row * n + j] * weight;
      if (units) {
        round_to(out[row * stride + j], x);
      } else {
        out[row * stride + j] = static_cast<T>(x);
      }
    }
  }
}

template <class P, class Fate>
void mirror(const Context& context, const Lower<P>& lower, const Fate& fate) {
  const int64_t tiles = divide_up(lower.n, kTile);
  launch(stream_of(context), mirror_tiles<P, Fate>, for_tiles(lower.blocks * tiles * tiles), lower,
         fate);
}

template <class T>
Stored<T> stored(const SymmetricStack& stack, const Tensor& product) {
  Stored<T> to;
  to.n = stack.shape()[2];
  if (stack.has_values()) {
    to.values = stack.values.f32();
    to.has_lower_values = to.values == product.data;
  }
  if (stack.has_copy()) {
    to.rounded = static_cast<T*>(stack.rounded.data);
    to.stride = stack.rounded.dim(2);
    // A product in half precision was rounded when it was written, one for tf32 was not.
    to.has_lower_copy = to.rounded == product.data && product.dtype != DType::f32;
  }
  return to;
}

template <class P>
Lower<P> lower_of(const Tensor& product, const Tensor* state) {
  return {static_cast<const P*>(product.data), product.dim(2), product.dim(0), product.dim(1),
          state ? state->i32() : nullptr};
}

// The two operands of a product, one if they are the same.
class Operands {
 public:
  Operands(Context& context, const SymmetricStack& a, const SymmetricStack& b,
           MatmulPrecision precision)
      : precision_(precision), left_(context, "rounded A", a, precision) {
    const bool same = a.any().data && a.any().data == b.any().data;
    if (!same) right_.emplace(context, "rounded B", b, precision);
  }

  void multiply(const Context& context, const Tensor& product, const Tensor& addend,
                const GemmScale& scale, const int32_t* state) const {
    left_.fill(context, state);
    if (right_) right_->fill(context, state);
    const int64_t n = product.dim(1);
    lower_product(device_of(context), precision_, {product.dim(0), n, n, n}, scale, left_.operand(),
                  (right_ ? *right_ : left_).operand(), result_of(product, addend));
  }

 private:
  MatmulPrecision precision_;
  StackOperand left_;
  std::optional<StackOperand> right_;
};

}  // namespace

void round_values(Context& context, const SymmetricStack& stack) {
  if (context.planning() || stack.values.elements() == 0) return;
  fill_rounded(context, stack.rounded, stack.values);
}

void update_factors(Context& context, const Tensor& factors, const Tensor& blocks, FactorSide side,
                    float beta, float weight, MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand g(context, "rounded blocks", blocks, precision);
  if (context.planning() || factors.elements() == 0) return;
  g.fill(context);
  const bool left = side == FactorSide::left;
  const int64_t n = factors.dim(1), k = blocks.dim(left ? 2 : 1);
  lower_product(device_of(context), precision, {factors.dim(0), n, n, k}, {weight, beta},
                g.operand(!left), g.operand(left), result_of(factors, factors));
  mirror(context, lower_of<float>(factors, nullptr),
         Keep<float>{stored<float>(factors, factors), 0.0f, nullptr});
}

void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options) {
  using Inactive = SymmetricMatmul::Inactive;
  const bool keeps = c.has_values() && options.state && options.inactive == Inactive::keep;
  const ArenaScope scope(context.scratch);
  // Where inactive blocks of C are to stay, the product must go elsewhere.
  const Tensor product = keeps ? context.scratch.take("symmetric product", c.shape()) : c.any();
  const Operands operands(context, a, b, options.precision);
  if (context.planning() || c.any().elements() == 0) return;

  operands.multiply(context, product, c.values, {options.alpha, options.beta},
                    options.state ? options.state->i32() : nullptr);
  const float* inactive = nullptr;
  if (c.has_values() && options.inactive != Inactive::keep) {
    inactive = (options.inactive == Inactive::copy_b ? b : a).values.f32();
  }
  with_rounded(c.rounded, [&]<class T>(T*) {
    const Keep<T> keep{stored<T>(c, product), options.diagonal, inactive};
    if (product.dtype == DType::f32) {
      mirror(context, lower_of<float>(product, options.state), keep);
    } else {
      mirror(context, lower_of<T>(product, options.state), keep);
    }
  });
}

void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test) {
  const SymmetricStack none;
  const SymmetricStack &n = product.n, &m = product.m ? *product.m : none;
  const Shape shape = n.shape();
  context.flops += 2.0 * static_cast<double>(shape.elements()) * static_cast<double>(shape[2]);
  const ArenaScope scope(context.scratch);
  const Tensor values = m.has_values()   ? m.values
                        : n.has_values() ? n.values
                                         : context.scratch.take("symmetric product", shape);
  const Tensor largest = take_magnitudes(context, shape[0]);
  const Operands operands(context, product.a, product.b, product.precision);
  if (context.planning() || values.elements() == 0) return;

  operands.multiply(context, values, {}, {}, test.state.i32());
  with_rounded(n.has_copy() ? n.rounded : m.rounded, [&]<class T>(T*) {
    Correct<T> correct{{}, stored<T>(n, {}), a, b, largest.i32()};
    if (product.m) correct.m = stored<T>(m, values);
    mirror(context, lower_of<float>(values, &test.state), correct);
  });
  judge_blocks(context, test, largest);
}

void from_spectrum(Context& context, const Tensor& c, const Tensor& weights, const Tensor& vectors,
                   const Tensor& state, MatmulPrecision precision) {
  const bool rounds = precision != MatmulPrecision::fp32;
  const int64_t blocks = c.dim(0), n = c.dim(1);
  const ArenaScope scope(context.scratch);
  const StackOperand left(context, "rounded vectors", vectors, precision);
  const Tensor weighted = rounds ? take_rounded(context, "weighted vectors", c.shape, precision)
                                 : context.scratch.take("weighted vectors", c.shape);
  const Tensor product = context.scratch.take("symmetric product", c.shape);
  const Tensor units = rounds ? context.scratch.take("units", {blocks}) : Tensor{};
  if (context.planning() || c.elements() == 0) return;
  left.fill(context, state.i32());
  const cudaStream_t stream = stream_of(context);
  float* of_blocks = rounds ? units.f32() : nullptr;
  if (rounds) {
    launch(stream, weight_units, for_warps(blocks), of_blocks, weights.f32(), state.i32(), blocks,
           n);
  }
  with_rounded(weighted, [&]<class T>(T* to) {
    launch(stream, scale_rows<T>, for_tiles(divide_up(blocks * n, kTileRows)), to, vectors.f32(),
           weights.f32(), of_blocks, blocks * n, n, weighted.dim(2));
  });
  lower_product(device_of(context), precision, {blocks, n, n, n}, {}, left.operand(true),
                operand_of(weighted), result_of(product, {}));
  mirror(context, lower_of<float>(product, &state),
         Keep<float>{stored<float>(c, product), 0.0f, nullptr});
  if (rounds) cuda::identity_plus(context, c, {}, {1.0f, &units}, c);
}

}  // namespace dashlm::cuda
