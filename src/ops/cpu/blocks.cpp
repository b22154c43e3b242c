#include "ops/blocks.h"

#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/cpu/block_kernels.h"
#include "ops/cpu/gemm.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements of an element-wise operation for one thread
constexpr int64_t kTile = 64;        // of a symmetric product

// One block of the flat parameters.
struct Place {
  int64_t offset, row_stride;
};

Place place_of(const Tensor& places, int64_t block) {
  const int64_t* place = places.as<int64_t>() + 2 * block;
  return {place[0], place[1]};
}

// F = beta·F + weight·A·Aᵀ, where A is G or its transpose, (n, inner): the tiles of the lower
// triangle, then their mirror images.
void update_factor(float* factor, const ConstMatrix& a, int64_t n, int64_t inner, float beta,
                   float weight) {
  const auto rows_from = [&](int64_t i) {
    return ConstMatrix{a.data + (a.transposed ? i : i * a.stride), a.stride, a.transposed};
  };
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t rows = std::min(kTile, n - i);
    // A whole row of tiles up to the diagonal is one product.
    ConstMatrix b = rows_from(0);
    b.transposed = !b.transposed;
    gemm(rows, i + rows, inner, weight, rows_from(i), b, beta, {factor + i * n, n});
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) factor[j * n + i] = factor[i * n + j];
  }
}

// The grafting rule's update of element i.
template <Grafting kRule>
float graft(float mean, float variance, const BlockUpdate& u) {
  if constexpr (kRule == Grafting::adam || kRule == Grafting::adagrad) {
    return mean * u.mean_correction / (u.graft_eps + std::sqrt(variance * u.variance_correction));
  } else {
    return mean * u.mean_correction;
  }
}

// What one block needs: pointers to its elements.
struct BlockData {
  const float *direction, *mean, *variance;
  float* velocity;
  int64_t elements;
  float lr;
};

template <Grafting kRule>
float graft_ratio(const BlockData& b, const BlockUpdate& u) {
  double direction = 0, grafted = 0;
#pragma omp simd reduction(+ : direction, grafted)
  for (int64_t i = 0; i < b.elements; ++i) {
    const float variance = b.variance ? b.variance[i] : 0.0f;
    const auto p = static_cast<double>(graft<kRule>(b.mean[i], variance, u));
    const auto d = static_cast<double>(b.direction[i]);
    direction += d * d;
    grafted += p * p;
  }
  return static_cast<float>(std::sqrt(grafted) / (std::sqrt(direction) + 1e-16));
}

template <Grafting kRule>
void apply(float* weights, const Place& place, int64_t cols, const BlockData& b,
           const BlockUpdate& u, float ratio) {
  const float keep = 1.0f - b.lr * u.weight_decay;
  for (int64_t first = 0, row = 0; first < b.elements; first += cols, ++row) {
    float* w = weights + place.offset + row * place.row_stride;
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t i = first + j;
      float p = b.direction ? ratio * b.direction[i]
                            : graft<kRule>(b.mean[i], b.variance ? b.variance[i] : 0.0f, u);
      if (b.velocity) {
        b.velocity[i] = u.momentum * b.velocity[i] + p;
        p = u.nesterov ? p + u.momentum * b.velocity[i] : b.velocity[i];
      }
      w[j] = keep * w[j] - b.lr * p;
    }
  }
}

template <Grafting kRule>
float update_block(float* weights, const Place& place, int64_t cols, const BlockData& b,
                   const BlockUpdate& u) {
  float ratio = 1.0f;
  if (b.direction) {
    // Without grafting only the bias of the mean, from which the direction was made, is undone.
    ratio = kRule == Grafting::none ? u.mean_correction : graft_ratio<kRule>(b, u);
  }
  apply<kRule>(weights, place, cols, b, u, ratio);
  return ratio;
}

}  // namespace

void pack_blocks(const Tensor& stack, const Tensor& flat, const Tensor& places, float scale) {
  const int64_t rows = stack.dim(1), cols = stack.dim(2);
  float* to = stack.f32();
  const float* from = flat.f32();
  parallel_for(stack.dim(0), [&](int64_t block) {
    const Place place = place_of(places, block);
    for (int64_t i = 0; i < rows; ++i) {
      const float* source = from + place.offset + i * place.row_stride;
      float* target = to + (block * rows + i) * cols;
      for (int64_t j = 0; j < cols; ++j) target[j] = scale * source[j];
    }
  });
}

void update_factors(const Tensor& factors, const Tensor& blocks, FactorSide side, float beta,
                    float weight) {
  const int64_t rows = blocks.dim(1), cols = blocks.dim(2), n = factors.dim(1);
  float* out = factors.f32();
  const float* in = blocks.f32();
  parallel_for(blocks.dim(0), [&](int64_t block) {
    const bool right = side == FactorSide::right;
    const ConstMatrix a{in + block * rows * cols, cols, right};
    update_factor(out + block * n * n, a, n, right ? rows : cols, beta, weight);
  });
}

void update_average(const Tensor& average, const Tensor& x, float beta, float weight) {
  float* a = average.f32();
  const float* in = x.f32();
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = beta * a[i] + weight * in[i];
  });
}

void update_square_average(const Tensor& average, const Tensor& x, float beta, float weight) {
  float* a = average.f32();
  const float* in = x.f32();
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = beta * a[i] + weight * in[i] * in[i];
  });
}

void apply_block_update(const Tensor& flat, const Tensor& places, const BlockTensors& tensors,
                        const BlockUpdate& update, const Tensor& ratios) {
  const int64_t cols = tensors.mean->dim(2), elements = tensors.mean->dim(1) * cols;
  const auto at = [&](const Tensor* tensor, int64_t block) {
    return tensor ? tensor->f32() + block * elements : nullptr;
  };
  float* weights = flat.f32();
  parallel_for(places.dim(0), [&](int64_t block) {
    const BlockData data{at(tensors.direction, block),
                         at(tensors.mean, block),
                         at(tensors.variance, block),
                         at(tensors.velocity, block),
                         elements,
                         update.lr * tensors.lr_scale->f32()[block]};
    const Place place = place_of(places, block);
    float& ratio = ratios.f32()[block];
    switch (update.grafting) {
      case Grafting::adam:
        ratio = update_block<Grafting::adam>(weights, place, cols, data, update);
        break;
      case Grafting::adagrad:
        ratio = update_block<Grafting::adagrad>(weights, place, cols, data, update);
        break;
      case Grafting::sgd:
        ratio = update_block<Grafting::sgd>(weights, place, cols, data, update);
        break;
      case Grafting::none:
        ratio = update_block<Grafting::none>(weights, place, cols, data, update);
        break;
    }
  });
}

}  // namespace dashlm::cpu
