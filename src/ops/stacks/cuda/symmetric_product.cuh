// Products that are symmetric. gemm.h computes the lower triangle, in bands of rows that each end
// at the diagonal; then a kernel mirrors it. That kernel gives each element to a Fate, which also
// writes the copies that later products need. So nobody goes through the matrices once more.
//
// A product takes in all blocks of a stack, active or not, because only the device knows which are
// active. The kernel that mirrors drops the results of the others.
#pragma once

#include "ops/stacks/cuda/magnitudes.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"
#include "ops/stacks/cuda/stack_operands.cuh"

namespace dashlm::cuda {

// --- The lower triangle

// C = alpha·op(A)·op(B) + beta·addend for stacks of C (n, n), in the lower triangle and a little
// above.
void lower_product(CudaDevice& device, MatmulPrecision precision, const GemmShape& shape,
                   const GemmScale& scale, const GemmOperand& a, const GemmOperand& b,
                   const GemmResult& c);

inline GemmResult result_of(const Tensor& c, const ConstTensor& addend) {
  return {.c = c.data,
          .row_stride = c.dim(2),
          .stride = c.dim(1) * c.dim(2),
          .addend = addend.data,
          .type = c.dtype};
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

  void multiply(const Context& context, const Tensor& product, const ConstTensor& addend,
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

// A Fate takes the elements of the product:
//   put(s, i, j, x, lower)   takes element (i, j) of active block s and returns the bits of a
//                            magnitude. `lower`: of a tile below the diagonal, not its mirror image
//   finish(s, largest)       takes the largest of these magnitudes, tile by tile, without mirror
//                            images
//   copies(), copy(s, i, j)  whether copy() is called for the elements of blocks that are not
//   active
//
// Keep stores the elements. Blocks that are not active become the blocks of `inactive`, or stay as
// they are if it is null.
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

template <class P, class Fate>
void mirror(const Context& context, const Lower<P>& lower, const Fate& fate) {
  const int64_t tiles = divide_up(lower.n, kTile);
  launch(context, mirror_tiles<P, Fate>, for_tiles(lower.blocks * tiles * tiles), lower, fate);
}

template <class T>
Stored<T> stored(const SymmetricStack& stack, const ConstTensor& product) {
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
Lower<P> lower_of(const ConstTensor& product, const ConstTensor& state) {
  return {static_cast<const P*>(product.data), product.dim(2), product.dim(0), product.dim(1),
          state.i32()};
}

}  // namespace dashlm::cuda
