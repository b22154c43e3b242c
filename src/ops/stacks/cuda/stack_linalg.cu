#include <algorithm>
#include <utility>

#include "ops/stacks/backends.h"
#include "ops/stacks/cuda/philox.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"
#include "ops/stacks/cuda/stack_operands.cuh"

namespace dashlm::cuda {
namespace {

// A BlockScalar in a kernel.
struct Scalar {
  explicit Scalar(const BlockScalar& scalar)
      : constant(scalar.constant), per_block(scalar.per_block.f32()) {}
  __device__ float of(int64_t s) const { return per_block ? constant * per_block[s] : constant; }

  float constant;
  const float* per_block;
};

__global__ void identity_plus_kernel(StackChunks chunks, int64_t n, float* c, Scalar a, Scalar b,
                                     const float* matrix) {
  for (int64_t item = blockIdx.x; item < chunks.count(); item += gridDim.x) {
    const Chunk chunk = chunks[item];
    const float added = a.of(chunk.s), factor = b.of(chunk.s);
    const float* in = matrix + chunk.start;
    float* out = c + chunk.start;
    DiagonalWalk diagonal(chunk.begin + threadIdx.x, n);
    for (int64_t i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      const float x = factor * in[i];
      out[i] = diagonal.next() ? x + added : x;
    }
  }
}

__global__ void add_to_diagonal_kernel(int64_t blocks, int64_t n, float* matrix, Scalar value) {
  for (int64_t i = first_element(); i < blocks * n; i += element_step()) {
    const int64_t s = i / n;
    matrix[i * n + (i - s * n)] += value.of(s);  // row i of the stack
  }
}

__global__ void scaled_power_kernel(int64_t count, float* out, const float* x, const float* y,
                                    double multiplier, double exponent) {
  for (int64_t i = first_element(); i < count; i += element_step()) {
    const double base = static_cast<double>(x[i]) * (y ? y[i] : 1.0f);
    out[i] = static_cast<float>(multiplier * pow(base, exponent));
  }
}

// --- Norms: sums of rows, by a warp each, and then of blocks, by a thread block each

__device__ double warp_sum(double value) {
  return warp_reduce(value, [](double a, double b) { return a + b; });
}

// sums (rows, 2): those of x² and of |x|
__global__ void sum_rows(int64_t rows, int64_t n, double* sums, const float* matrix) {
  for (int64_t row = first_of_warp(); row < rows; row += warp_step()) {
    const float* x = matrix + row * n;
    double squares = 0, magnitudes = 0;
    for (int64_t i = lane_of_warp(); i < n; i += kWarp) {
      const double value = x[i];
      squares += value * value;
      magnitudes += fabs(value);
    }
    squares = warp_sum(squares);
    magnitudes = warp_sum(magnitudes);
    if (lane_of_warp() == 0) {
      sums[2 * row] = squares;
      sums[2 * row + 1] = magnitudes;
    }
  }
}

enum class Estimate { frobenius, bound };

__global__ void estimate_kernel(int64_t blocks, int64_t n, float* out, const double* row_sums,
                                Estimate kind) {
  for (int64_t s = blockIdx.x; s < blocks; s += gridDim.x) {
    const double* sums = row_sums + 2 * s * n;
    double squares = 0, largest = 0;
    for (int64_t row = threadIdx.x; row < n; row += blockDim.x) {
      squares += sums[2 * row];
      largest = fmax(largest, sums[2 * row + 1]);
    }
    const double norm = sqrt(block_sum(squares));
    largest = block_reduce(largest, 0.0, [](double a, double b) { return fmax(a, b); });
    if (threadIdx.x == 0) {
      out[s] = static_cast<float>(kind == Estimate::frobenius ? norm : fmin(largest, norm));
    }
  }
}

void estimate(Context& context, const Tensor& out, const ConstTensor& matrix, Estimate kind) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = matrix.dim(0), n = matrix.dim(1);
  const Tensor sums = context.scratch.take("row sums", {blocks, n, 2}, DType::f64);
  launch(context, sum_rows, for_warps(blocks * n), blocks * n, n, sums.as<double>(), matrix.f32());
  launch(context, estimate_kernel, for_elements(blocks * kThreads), blocks, n, out.f32(),
         sums.as<double>(), kind);
}

// --- Power iteration, with the vectors (S, pool, stride) of many blocks at once

struct Vectors {
  int64_t blocks, pool, n, stride;

  // Multiples of 16 floats as on the CPU: the random numbers of a vector begin at its place.
  Vectors(int64_t block_count, int64_t vectors, int64_t length)
      : blocks(block_count), pool(vectors), n(length), stride(divide_up(length, 16) * 16) {}
  int64_t elements() const { return blocks * pool * stride; }
};

// Ids of some blocks, which kernels are given by value: a copy from host memory would wait for all
// work before it.
struct BlockIds {
  static constexpr int64_t kMost = 256;
  int64_t of[kMost];
};

// Uniform in [-1, 1): four 16-bit numbers from each 64 random bits. At most BlockIds::kMost blocks.
__global__ void start_vectors(Vectors all, float* v, BlockIds ids, DeviceRandom random) {
  const int64_t per_vector = all.stride / 4;
  const int64_t fours = all.blocks * all.pool * per_vector;
  for (int64_t four = first_element(); four < fours; four += element_step()) {
    const int64_t vector = four / per_vector, place = four - vector * per_vector;
    const int64_t s = vector / all.pool, k = vector - s * all.pool;
    const uint64_t bits = random.bits((static_cast<uint64_t>(ids.of[s]) << 32) +
                                      static_cast<uint64_t>(k * all.stride + place));
    for (int i = 0; i < 4; ++i) {
      const auto word = static_cast<int16_t>(static_cast<uint16_t>(bits >> (16 * i)));
      if (4 * place + i < all.n) v[4 * four + i] = (static_cast<float>(word) + 0.5f) * 0x1p-15f;
    }
  }
}

// Scales every vector to length 1, by a warp each. Raises largest (S) to the lengths before, unless
// it is null: as integers, as which numbers that are not negative compare like numbers.
__global__ void normalize_vectors(Vectors all, float* vectors, float* largest) {
  for (int64_t k = first_of_warp(); k < all.blocks * all.pool; k += warp_step()) {
    float* v = vectors + k * all.stride;
    double squares = 0;
    for (int64_t i = lane_of_warp(); i < all.n; i += kWarp) {
      squares += static_cast<double>(v[i]) * v[i];
    }
    const double length = sqrt(warp_sum(squares));
    const auto factor = static_cast<float>(length > 0 ? 1.0 / length : 0.0);
    for (int64_t i = lane_of_warp(); i < all.n; i += kWarp) v[i] *= factor;
    if (largest && length > 0 && lane_of_warp() == 0) {  // not of NaN
      atomicMax(reinterpret_cast<unsigned*>(largest + k / all.pool),
                __float_as_uint(static_cast<float>(length)));
    }
  }
}

// A tile of product = v·A: some vectors by some columns.
constexpr int kTileVectors = 16, kTileColumns = 64;
constexpr int kTileDepth = 32;  // products that go through shared memory at once
constexpr int kVectorsOfThread = kTileVectors / (kThreads / kTileColumns);
static_assert(kVectorsOfThread == 4);  // those of a float4

__device__ void add_multiple(float4& sum, float factor, const float4& x) {
  sum.x += factor * x.x;
  sum.y += factor * x.y;
  sum.z += factor * x.z;
  sum.w += factor * x.w;
}

// How operands are rounded, back to floats, before they are multiplied.
struct Unrounded {
  __device__ float operator()(float x) const { return x; }
};
template <class T>
struct RoundedTo {
  __device__ float operator()(float x) const {
    T rounded;
    round_to(rounded, x);
    return static_cast<float>(rounded);
  }
};

// Calls act(rounding) with the rounding of this precision.
template <class Act>
void with_rounding(MatmulPrecision precision, const Act& act) {
  switch (precision) {
    case MatmulPrecision::fp32:
      return act(Unrounded());
    case MatmulPrecision::tf32:
      return act(RoundedTo<float>());
    case MatmulPrecision::fp16:
      return act(RoundedTo<__half>());
    case MatmulPrecision::bf16:
      return act(RoundedTo<__nv_bfloat16>());
  }
}

// product = v·A for every block, of operands that `round` rounds. Every element is summed in the
// same order: within steps of kTileDepth first, which also keeps rounding errors small.
template <class Round>
__global__ void multiply_vectors(Vectors all, float* product, const float* v, const float* matrices,
                                 Round round) {
  __shared__ float tile[kTileDepth][kTileColumns];
  __shared__ float4 tile_v[kTileDepth][kTileVectors / 4];
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kTileColumns, group = thread / kTileColumns;
  const int64_t n = all.n, column_tiles = (n + kTileColumns - 1) / kTileColumns;
  const int64_t vector_tiles = (all.pool + kTileVectors - 1) / kTileVectors;
  for (int64_t item = blockIdx.x; item < all.blocks * vector_tiles * column_tiles;
       item += gridDim.x) {
    const int64_t rest = item / column_tiles, s = rest / vector_tiles;
    const int64_t first_column = (item - rest * column_tiles) * kTileColumns;
    const int64_t first_vector = (rest - s * vector_tiles) * kTileVectors;
    const float* matrix = matrices + s * n * n;
    const float* from = v + (s * all.pool + first_vector) * all.stride;
    const int64_t vectors = all.pool - first_vector;  // that are left
    float4 sum = {0, 0, 0, 0};
    for (int64_t first_row = 0; first_row < n; first_row += kTileDepth) {
      __syncthreads();
      for (int row = group; row < kTileDepth; row += kThreads / kTileColumns) {
        const int64_t i = first_row + row, j = first_column + column;
        tile[row][column] = i < n && j < n ? round(matrix[i * n + j]) : 0.0f;
      }
      if (thread < kTileDepth * kTileVectors / 4) {
        const int row = thread % kTileDepth, four = thread / kTileDepth;
        const int64_t i = first_row + row;
        const auto element = [&](int64_t k) {
          return i < n && k < vectors ? round(from[k * all.stride + i]) : 0.0f;
        };
        tile_v[row][four] = {element(4 * four), element(4 * four + 1), element(4 * four + 2),
                             element(4 * four + 3)};
      }
      __syncthreads();
      float4 part = {0, 0, 0, 0};
#pragma unroll
      for (int row = 0; row < kTileDepth; ++row) {
        add_multiple(part, tile[row][column], tile_v[row][group]);
      }
      add_multiple(sum, 1.0f, part);
    }
    const int64_t j = first_column + column, k = kVectorsOfThread * group;
    if (j >= n) continue;
    float* to = product + (s * all.pool + first_vector + k) * all.stride + j;
    if (k < vectors) to[0] = sum.x;
    if (k + 1 < vectors) to[all.stride] = sum.y;
    if (k + 2 < vectors) to[2 * all.stride] = sum.z;
    if (k + 3 < vectors) to[3 * all.stride] = sum.w;
  }
}

LaunchShape shape_of_product(const Vectors& all) {
  constexpr int64_t kMostBlocks = 1 << 20;
  const int64_t tiles =
      all.blocks * divide_up(all.pool, kTileVectors) * divide_up(all.n, kTileColumns);
  return {dim3(static_cast<unsigned>(tiles < kMostBlocks ? tiles : kMostBlocks)), dim3(kThreads)};
}

// out, which is zero before, becomes the estimates; v and product are overwritten. ids (S) are on
// the host.
void iterate(cudaStream_t stream, const Vectors& all, float* out, const float* matrices,
             const int64_t* ids, float* v, float* product, const PowerIteration& options) {
  const DeviceRandom random(options.seed, Purpose::power_iteration,
                            static_cast<uint64_t>(options.step));
  const LaunchShape warps = for_warps(all.blocks * all.pool);
  for (int64_t first = 0; first < all.blocks; first += BlockIds::kMost) {
    const Vectors some(std::min(BlockIds::kMost, all.blocks - first), all.pool, all.n);
    BlockIds some_ids = {};
    std::copy_n(ids + first, some.blocks, some_ids.of);
    launch(stream, start_vectors, for_elements(some.elements() / 4), some,
           v + first * all.pool * all.stride, some_ids, random);
  }
  launch(stream, normalize_vectors, warps, all, v, nullptr);
  for (int64_t step = 1; step <= options.steps; ++step) {
    with_rounding(options.precision, [&]<class Round>(const Round& round) {
      launch(stream, multiply_vectors<Round>, shape_of_product(all), all, product, v, matrices,
             round);
    });
    std::swap(v, product);
    launch(stream, normalize_vectors, warps, all, v, step == options.steps ? out : nullptr);
  }
}

}  // namespace

void identity_plus(Context& context, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const ConstTensor& matrix) {
  const StackChunks chunks(c);
  launch(context, identity_plus_kernel, chunks.shape(), chunks, c.dim(1), c.f32(), Scalar(a),
         Scalar(b), matrix.f32());
}

void add_to_diagonal(Context& context, const Tensor& matrix, const BlockScalar& value) {
  const int64_t blocks = matrix.dim(0), n = matrix.dim(1);
  launch(context, add_to_diagonal_kernel, for_elements(blocks * n), blocks, n, matrix.f32(),
         Scalar(value));
}

void scaled_power(Context& context, const Tensor& out, const ConstTensor& x, const ConstTensor& y,
                  double multiplier, double exponent) {
  launch(context, scaled_power_kernel, for_elements(x.elements()), x.elements(), out.f32(), x.f32(),
         y.f32(), multiplier, exponent);
}

void frobenius_norm(Context& context, const Tensor& out, const ConstTensor& matrix) {
  estimate(context, out, matrix, Estimate::frobenius);
}

void eigenvalue_bound(Context& context, const Tensor& out, const ConstTensor& matrix) {
  estimate(context, out, matrix, Estimate::bound);
}

void power_iteration(Context& context, const Tensor& out, const ConstTensor& matrix,
                     const PowerIteration& options) {
  // Blocks are taken together as far as their vectors need no more than 256 MiB, twice.
  constexpr int64_t kElements = int64_t{1} << 26;
  const Vectors one(1, options.pool, matrix.dim(1));
  const int64_t together = std::max<int64_t>(1, kElements / std::max<int64_t>(1, one.elements()));
  const int64_t blocks = matrix.dim(0), batch = std::min(blocks, together);
  const ArenaScope scope(context.scratch);
  const Shape shape = {batch, one.pool, one.stride};
  const Tensor v = context.scratch.take("vectors", shape);
  const Tensor product = context.scratch.take("products", shape);
  context.clear(out);
  context.compute([&] {
    for (int64_t begin = 0; begin < blocks; begin += batch) {
      const int64_t count = std::min(batch, blocks - begin);
      iterate(stream_of(context), Vectors(count, one.pool, one.n), out.f32() + begin,
              matrix.f32() + begin * one.n * one.n, options.block_ids.data() + begin, v.f32(),
              product.f32(), options);
    }
  });
}

}  // namespace dashlm::cuda
