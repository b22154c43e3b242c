// Products of matrices through gemm.h. Of a symmetric product all elements are computed, also those
// above the diagonal, which are then overwritten: cuBLASLt has no product of half a matrix.
//
// Products of stacks take in all blocks, active or not: which are active is known only on the
// device. What was computed for the others is dropped by the kernel that mirrors.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "ops/cuda/gemm.h"
#include "ops/cuda/operations.h"
#include "ops/cuda/support.cuh"
#include "ops/peak.h"

namespace dashlm::cuda {
namespace {

constexpr int kTile = 32, kTileRows = 8;  // threads of a block: kTile across, kTileRows down
constexpr int64_t kMostBlocks = 1 << 16;  // of a grid; the kernels loop

LaunchShape for_tiles(int64_t count) {
  return {dim3(static_cast<unsigned>(std::min(count, kMostBlocks))), dim3(kTile, kTileRows)};
}

// --- Symmetric results

// A stack whose lower triangles are to be made symmetric.
struct Mirror {
  float* c;              // (S, n, n)
  const float* product;  // (S, n, n), C itself or disjoint from it
  int64_t blocks, n;
  float diagonal = 0.0f;            // added to the product's
  const int32_t* state = nullptr;   // null: all blocks are active
  const float* inactive = nullptr;  // what other blocks become; null: they stay as they are
};

// Copies a tile of C and, unless on the diagonal, fills its mirror image. One thread block per tile
// of kTile², those above the diagonal of active blocks having nothing to do.
__global__ void mirror_tiles(Mirror m) {
  __shared__ float tile[kTile][kTile + 1];  // a column more: columns lie in different banks
  const int64_t n = m.n, tiles = (n + kTile - 1) / kTile;
  const int x = static_cast<int>(threadIdx.x);
  for (int64_t item = blockIdx.x; item < m.blocks * tiles * tiles; item += gridDim.x) {
    const int64_t s = item / (tiles * tiles);
    const int64_t i0 = item / tiles % tiles * kTile, j0 = item % tiles * kTile;
    const bool active = !m.state || (m.state[s] & kActive);
    if (active ? j0 > i0 : !m.inactive) continue;
    float* c = m.c + s * n * n;
    const float* from = (active ? m.product : m.inactive) + s * n * n;
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (i0 + y < n && j0 + x < n) tile[y][x] = from[(i0 + y) * n + j0 + x];
    }
    __syncthreads();
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      if (i0 + y < n && j0 + x < n) {
        float value = tile[y][x];
        if (active && i0 == j0) {
          value = x > y ? tile[x][y] : value;
          if (x == y && m.diagonal != 0.0f) value += m.diagonal;
        }
        c[(i0 + y) * n + j0 + x] = value;
      }
      if (active && j0 < i0 && j0 + y < n && i0 + x < n) {
        c[(j0 + y) * n + i0 + x] = tile[x][y];
      }
    }
    __syncthreads();  // before the next item overwrites the tile
  }
}

void mirror(const Context& context, const Mirror& m) {
  const int64_t tiles = divide_up(m.n, kTile);
  launch(stream_of(context), mirror_tiles, for_tiles(m.blocks * tiles * tiles), m);
}

// --- Operands

// To nearest with ties to even, as the CPU does.
__device__ void round_to(float& out, float x) {
  const uint32_t word = __float_as_uint(x);
  const uint32_t rounded = (word + 0xFFFu + (word >> 13 & 1u)) & ~0x1FFFu;
  out = isnan(x) ? x : __uint_as_float(rounded);
}
__device__ void round_to(__half& out, float x) {
  out = __float2half_rn(x);
}
__device__ void round_to(__nv_bfloat16& out, float x) {
  out = __float2bfloat16_rn(x);
}

// Rows of `in` (S·n, n), rounded, to rows of `stride` elements; blocks that are not active are left
// out. A warp per row.
template <class T>
__global__ void round_rows(T* out, const float* in, const int32_t* state, int64_t rows, int64_t n,
                           int64_t stride) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileRows + threadIdx.y;
  for (int64_t row = first; row < rows; row += static_cast<int64_t>(gridDim.x) * kTileRows) {
    if (state && !(state[row / n] & kActive)) continue;
    for (int64_t j = threadIdx.x; j < n; j += kTile) {
      round_to(out[row * stride + j], in[row * n + j]);
    }
  }
}

// Row i of `in` times weights[i], over all rows of a stack.
__global__ void scale_rows(float* out, const float* in, const float* weights, int64_t rows,
                           int64_t n) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileRows + threadIdx.y;
  for (int64_t row = first; row < rows; row += static_cast<int64_t>(gridDim.x) * kTileRows) {
    const float weight = weights[row];
    for (int64_t j = threadIdx.x; j < n; j += kTile) out[row * n + j] = in[row * n + j] * weight;
  }
}

// A copy of a stack in another precision, its rows padded to 16 bytes: so tensor cores can load
// them whatever n.
class RoundedStack {
 public:
  RoundedStack(Context& context, const std::string& name, const Tensor& stack,
               MatmulPrecision precision)
      : precision_(precision) {
    const bool halves = precision != MatmulPrecision::tf32;
    const int64_t per_load = halves ? 8 : 4;
    stride_ = divide_up(stack.dim(2), per_load) * per_load;
    const DType type = precision == MatmulPrecision::fp16 ? DType::f16
                       : halves                           ? DType::bf16
                                                          : DType::f32;
    rounded_ = context.scratch.take(name, {stack.dim(0), stack.dim(1), stride_}, type);
  }

  void fill(const Context& context, const Tensor& stack, const int32_t* state) const {
    switch (precision_) {
      case MatmulPrecision::fp32:
        break;
      case MatmulPrecision::tf32:
        return fill_with<float>(context, stack, state);
      case MatmulPrecision::fp16:
        return fill_with<__half>(context, stack, state);
      case MatmulPrecision::bf16:
        return fill_with<__nv_bfloat16>(context, stack, state);
    }
  }

  GemmOperand operand(bool transposed) const {
    return {rounded_.data, stride_, rounded_.dim(1) * stride_, transposed};
  }

 private:
  template <class T>
  void fill_with(const Context& context, const Tensor& stack, const int32_t* state) const {
    const int64_t rows = stack.dim(0) * stack.dim(1);
    launch(stream_of(context), round_rows<T>, for_tiles(divide_up(rows, kTileRows)),
           static_cast<T*>(rounded_.data), stack.f32(), state, rows, stack.dim(2), stride_);
  }

  MatmulPrecision precision_;
  int64_t stride_;
  Tensor rounded_;
};

GemmOperand operand_of(const Tensor& x, bool transposed = false) {
  const int64_t rows = x.dim(x.rank() - 2), cols = x.dim(x.rank() - 1);
  return {x.data, cols, rows * cols, transposed};
}

// A stack as products in `precision` take it: itself for fp32, else a rounded copy in scratch.
class StackOperand {
 public:
  StackOperand(Context& context, const std::string& name, const Tensor& stack,
               MatmulPrecision precision)
      : stack_(stack) {
    if (precision != MatmulPrecision::fp32) rounded_.emplace(context, name, stack, precision);
  }

  // To be called before operand(); null state: all blocks are active.
  void fill(const Context& context, const int32_t* state = nullptr) const {
    if (rounded_) rounded_->fill(context, stack_, state);
  }
  GemmOperand operand(bool transposed = false) const {
    return rounded_ ? rounded_->operand(transposed) : operand_of(stack_, transposed);
  }

 private:
  const Tensor& stack_;
  std::optional<RoundedStack> rounded_;
};

// In which products of these operands, as they are, are taken.
MatmulPrecision precision_of(const Tensor& a, const Tensor& b) {
  if (a.dtype == b.dtype && a.dtype == DType::f32) return MatmulPrecision::fp32;
  if (a.dtype == b.dtype && a.dtype == DType::bf16) return MatmulPrecision::bf16;
  fail_runtime("matmul: {} and {} must both be f32 or both bf16", a.text(), b.text());
}

// --- The peak

__global__ void fill_varied(float* x, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u;
    x[i] = static_cast<float>(mixed >> 8) * 0x1p-24f - 0.5f;
  }
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventSynchronize(event_));
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

void matmul(Context& context, const Tensor& c, const Tensor* addend, const Tensor& a,
            const Tensor& b, const MatmulOptions& options) {
  if (context.planning() || c.elements() == 0) return;
  const int row = c.rank() - 2, col = c.rank() - 1;
  const int64_t k = a.dim(options.transpose_a ? row : col);
  CudaDevice& device = device_of(context);
  if (k == 0) {  // a sum without terms, which cuBLASLt does not know
    if (!addend) return device.clear(c.data, c.bytes());
    if (addend->data != c.data) device.copy(c.data, addend->data, c.bytes());
    return;
  }
  const int64_t stack = c.rank() == 3 ? c.dim(0) : 1;
  gemm(device, precision_of(a, b), {stack, c.dim(row), c.dim(col), k},
       {options.alpha, addend ? 1.0f : 0.0f}, operand_of(a, options.transpose_a),
       operand_of(b, options.transpose_b),
       {.c = c.data, .addend = addend ? addend->data : nullptr, .type = c.dtype});
}

void update_factors(Context& context, const Tensor& factors, const Tensor& blocks, FactorSide side,
                    float beta, float weight, MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand g(context, "rounded blocks", blocks, precision);
  if (context.planning() || factors.elements() == 0) return;
  g.fill(context);
  const bool left = side == FactorSide::left;
  const int64_t stack = factors.dim(0), n = factors.dim(1), k = blocks.dim(left ? 2 : 1);
  gemm(device_of(context), precision, {stack, n, n, k}, {weight, beta}, g.operand(!left),
       g.operand(left), {.c = factors.f32(), .addend = factors.f32()});
  mirror(context, {.c = factors.f32(), .product = factors.f32(), .blocks = stack, .n = n});
}

void multiply_blocks(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                     MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand left(context, "rounded A", a, precision);
  const StackOperand right(context, "rounded B", b, precision);
  if (context.planning() || c.elements() == 0) return;
  left.fill(context);
  right.fill(context);
  gemm(device_of(context), precision, {c.dim(0), c.dim(1), c.dim(2), a.dim(2)}, {}, left.operand(),
       right.operand(), {.c = c.f32()});
}

void symmetric_matmul(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                      const SymmetricMatmul& options) {
  using Inactive = SymmetricMatmul::Inactive;
  const bool keeps = options.state && options.inactive == Inactive::keep;
  const bool same = a.data && a.data == b.data;
  const ArenaScope scope(context.scratch);
  // Where inactive blocks of C are to stay, the product must go elsewhere.
  const Tensor product = keeps ? context.scratch.take("symmetric product", c.shape) : c;
  const StackOperand left(context, "rounded A", a, options.precision);
  std::optional<StackOperand> other;
  if (!same) other.emplace(context, "rounded B", b, options.precision);
  if (context.planning() || c.elements() == 0) return;

  const int32_t* state = options.state ? options.state->i32() : nullptr;
  left.fill(context, state);
  if (other) other->fill(context, state);
  const StackOperand& right = other ? *other : left;
  const int64_t stack = c.dim(0), n = c.dim(1);
  gemm(device_of(context), options.precision, {stack, n, n, n}, {options.alpha, options.beta},
       left.operand(), right.operand(), {.c = product.f32(), .addend = c.f32()});
  const float* inactive = options.inactive == Inactive::copy_b   ? b.f32()
                          : options.inactive == Inactive::copy_a ? a.f32()
                                                                 : nullptr;
  mirror(context, {c.f32(), product.f32(), stack, n, options.diagonal, state, inactive});
}

void from_spectrum(Context& context, const Tensor& c, const Tensor& weights, const Tensor& vectors,
                   const Tensor& state) {
  const ArenaScope scope(context.scratch);
  const Tensor weighted = context.scratch.take("weighted vectors", c.shape);
  const Tensor product = context.scratch.take("symmetric product", c.shape);
  if (context.planning() || c.elements() == 0) return;
  const int64_t stack = c.dim(0), n = c.dim(1), rows = stack * n;
  launch(stream_of(context), scale_rows, for_tiles(divide_up(rows, kTileRows)), weighted.f32(),
         vectors.f32(), weights.f32(), rows, n);
  gemm(device_of(context), MatmulPrecision::fp32, {stack, n, n, n}, {}, operand_of(vectors, true),
       operand_of(weighted), {.c = product.f32()});
  mirror(context,
         {.c = c.f32(), .product = product.f32(), .blocks = stack, .n = n, .state = state.i32()});
}

double measure_matmul_peak(Device& device, int repeats) {
  constexpr int64_t kSize = 4096;
  Arena scratch(device, "measuring the peak");
  const auto take = [&] { return scratch.take("matrices", {3, kSize, kSize}); };
  take();
  scratch.commit();
  const Tensor matrices = take();
  const Tensor a = matrices.rows(0, 1), b = matrices.rows(1, 1), c = matrices.rows(2, 1);
  Context context{device, scratch};
  const cudaStream_t stream = stream_of(context);
  // Varied numbers: of constant ones a GPU makes more a second than of any that matter.
  launch(stream, fill_varied, for_elements(matrices.elements()), matrices.f32(),
         matrices.elements());
  matmul(context, c, nullptr, a, b, {});  // warms up the clock, and chooses the algorithm
  double best = std::numeric_limits<double>::infinity();
  Event start, end;
  for (int i = 0; i < repeats; ++i) {
    start.record(stream);
    matmul(context, c, nullptr, a, b, {});
    end.record(stream);
    best = std::min(best, end.seconds_since(start));
  }
  return 2.0 * kSize * kSize * kSize / best;
}

}  // namespace dashlm::cuda
