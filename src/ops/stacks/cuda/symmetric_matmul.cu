#include "ops/stacks/backends.h"
#include "ops/stacks/cuda/symmetric_product.cuh"

namespace dashlm::cuda {
namespace {

// Rows of C that are computed by one product. More bands save operations, down to half of them, but
// each reads its part of B again, which counts the more the faster the products. Multiples of 64,
// so that bands are aligned as well as the matrix.
int64_t band_rows(int64_t n, MatmulPrecision precision) {
  constexpr int64_t kMostBands = 8;
  const int64_t least = precision == MatmulPrecision::fp32 ? 128 : 512;
  const int64_t bands = std::clamp<int64_t>(n / least, 1, kMostBands);
  return divide_up(divide_up(n, bands), 64) * 64;
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

}  // namespace

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

Tensor take_rounded(Context& context, const TensorName& name, const Shape& shape,
                    MatmulPrecision precision) {
  // Rows of whole 16 bytes: so tensor cores can load them whatever n.
  const DType type = operand_type(precision);
  const int64_t per_load = 16 / size_of(type);
  return context.scratch.take(name, {shape[0], shape[1], divide_up(shape[2], per_load) * per_load},
                              type);
}

void round_values(Context& context, const SymmetricStack& stack) {
  fill_rounded(context, stack.rounded, stack.values);
}

void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options) {
  using Inactive = SymmetricMatmul::Inactive;
  const bool keeps = c.has_values() && options.state && options.inactive == Inactive::keep;
  const ArenaScope scope(context.scratch);
  // Where inactive blocks of C are to stay, the product must go elsewhere.
  const Tensor product = keeps ? context.scratch.take("symmetric product", c.shape()) : c.any();
  const Operands operands(context, a, b, options.precision);
  const float* inactive = nullptr;
  if (c.has_values() && options.inactive != Inactive::keep) {
    inactive = (options.inactive == Inactive::copy_b ? b : a).values.f32();
  }
  context.compute([&] {
    operands.multiply(context, product, c.values, {options.alpha, options.beta},
                      options.state.i32());
    with_rounded(c.rounded, [&]<class T>(T*) {
      const Keep<T> keep{stored<T>(c, product), options.diagonal, inactive};
      if (product.dtype == DType::f32) {
        mirror(context, lower_of<float>(product, options.state), keep);
      } else {
        mirror(context, lower_of<T>(product, options.state), keep);
      }
    });
  });
}

void from_spectrum(Context& context, const Tensor& c, const ConstTensor& weights,
                   const ConstTensor& vectors, const ConstTensor& state,
                   MatmulPrecision precision) {
  const bool rounds = precision != MatmulPrecision::fp32;
  const int64_t blocks = c.dim(0), n = c.dim(1);
  const ArenaScope scope(context.scratch);
  const StackOperand left(context, "rounded vectors", vectors, precision);
  const Tensor weighted = rounds
                              ? cuda::take_rounded(context, "weighted vectors", c.shape, precision)
                              : context.scratch.take("weighted vectors", c.shape);
  const Tensor product = context.scratch.take("symmetric product", c.shape);
  const Tensor units = rounds ? context.scratch.take("units", {blocks}) : Tensor{};
  float* of_blocks = rounds ? units.f32() : nullptr;
  context.compute([&] {
    left.fill(context, state.i32());
    if (rounds) {
      launch(context, weight_units, for_warps(blocks), of_blocks, weights.f32(), state.i32(),
             blocks, n);
    }
    with_rounded(weighted, [&]<class T>(T* to) {
      launch(context, scale_rows<T>, for_tiles(divide_up(blocks * n, kTileRows)), to, vectors.f32(),
             weights.f32(), of_blocks, blocks * n, n, weighted.dim(2));
    });
    lower_product(device_of(context), precision, {blocks, n, n, n}, {}, left.operand(true),
                  operand_of(weighted), result_of(product, {}));
    mirror(context, lower_of<float>(product, state),
           Keep<float>{stored<float>(c, product), 0.0f, nullptr});
    if (rounds) cuda::identity_plus(context, c, {}, {1.0f, units}, c);
  });
}

}  // namespace dashlm::cuda
