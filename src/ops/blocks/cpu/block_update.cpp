#include <cmath>

#include "device/cpu/parallel.h"
#include "ops/blocks/backends.h"

namespace dashlm::cpu {
namespace {

// The grafting rule's update of an element.
template <Grafting kRule>
inline float graft(float mean, float variance, float mean_correction, float variance_correction,
                   float eps) {
  if constexpr (has_variance(kRule)) {
    return mean * mean_correction / (eps + std::sqrt(variance * variance_correction));
  } else {
    return mean * mean_correction;
  }
}

// The elements of one block. Rules without a variance are given the mean in its place.
struct BlockData {
  float* direction;
  const float *mean, *variance;
  float* velocity;  // or null
  int64_t elements;
};

// direction = Pg
template <Grafting kRule>
void write_graft(const BlockData& b, const BlockUpdate& u) {
  float* out = b.direction;
  const float *mean = b.mean, *variance = b.variance;
  const float mc = u.mean_correction, vc = u.variance_correction, eps = u.graft_eps;
#pragma omp simd
  for (int64_t i = 0; i < b.elements; ++i) out[i] = graft<kRule>(mean[i], variance[i], mc, vc, eps);
}

// ‖Pg‖_F / (‖direction‖_F + 1e-16)
template <Grafting kRule>
float graft_ratio(const BlockData& b, const BlockUpdate& u) {
  const float *direction = b.direction, *mean = b.mean, *variance = b.variance;
  const float mc = u.mean_correction, vc = u.variance_correction, eps = u.graft_eps;
  double directed = 0, grafted = 0;
#pragma omp simd reduction(+ : directed, grafted)
  for (int64_t i = 0; i < b.elements; ++i) {
    const auto p = static_cast<double>(graft<kRule>(mean[i], variance[i], mc, vc, eps));
    const auto d = static_cast<double>(direction[i]);
    directed += d * d;
    grafted += p * p;
  }
  return static_cast<float>(std::sqrt(grafted) / (std::sqrt(directed) + 1e-16));
}

// direction = ratio·direction + decay·W, for W the weights of the block
void add_decay(const BlockData& b, const float* weights, const BlockEntry& entry, int64_t cols,
               float ratio, float decay) {
  for (int64_t first = 0, row = 0; first < b.elements; first += cols, ++row) {
    const float* w = weights + entry.offset + row * entry.row_stride;
    float* d = b.direction + first;
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) d[j] = ratio * d[j] + decay * w[j];
  }
}

// velocity = μ·velocity + P for P = ratio·direction; then direction = velocity, or P + μ·velocity.
void add_momentum(const BlockData& b, const BlockUpdate& u, float ratio) {
  float *direction = b.direction, *velocity = b.velocity;
  const float mu = u.momentum, keep = u.nesterov ? ratio : 0.0f, follow = u.nesterov ? mu : 1.0f;
#pragma omp simd
  for (int64_t i = 0; i < b.elements; ++i) {
    const float v = mu * velocity[i] + ratio * direction[i];
    velocity[i] = v;
    direction[i] = keep * direction[i] + follow * v;
  }
}

// W = keep·W - rate·direction
void move_weights(float* weights, const BlockEntry& entry, int64_t cols, const BlockData& b,
                  float keep, float rate) {
  for (int64_t first = 0, row = 0; first < b.elements; first += cols, ++row) {
    float* w = weights + entry.offset + row * entry.row_stride;
    const float* d = b.direction + first;
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) w[j] = keep * w[j] - rate * d[j];
  }
}

// Gives the direction its size; returns the factor that is still to be applied.
template <Grafting kRule>
float size_direction(const BlockData& b, const BlockUpdate& u) {
  if (!u.preconditioned) {
    write_graft<kRule>(b, u);
    return 1.0f;
  }
  // Without grafting only the bias of the mean, from which the direction was made, is undone.
  return kRule == Grafting::none ? u.mean_correction : graft_ratio<kRule>(b, u);
}

float size_direction(const BlockData& b, const BlockUpdate& u) {
  switch (u.grafting) {
    case Grafting::adam:
      return size_direction<Grafting::adam>(b, u);
    case Grafting::adagrad:
      return size_direction<Grafting::adagrad>(b, u);
    case Grafting::sgd:
      return size_direction<Grafting::sgd>(b, u);
    case Grafting::none:
      return size_direction<Grafting::none>(b, u);
  }
  return 0.0f;
}

void update_blocks(const BlockTensors& tensors, const BlockUpdate& update) {
  const int64_t cols = tensors.mean.dim(2), elements = tensors.mean.dim(1) * cols;
  const ConstTensor& variance = tensors.variance ? tensors.variance : tensors.mean;
  parallel_for(tensors.table.dim(0), [&](int64_t block) {
    const int64_t first = block * elements;
    const BlockData data{tensors.direction.f32() + first, tensors.mean.f32() + first,
                         variance.f32() + first,
                         tensors.velocity ? tensors.velocity.f32() + first : nullptr, elements};
    float ratio = size_direction(data, update);
    tensors.ratios.f32()[block] = ratio;
    const BlockEntry& entry = entries_of(tensors.table)[block];
    const bool decay_inside = data.velocity && update.decay_in_momentum;
    if (decay_inside) {
      add_decay(data, tensors.flat.f32(), entry, cols, ratio, update.weight_decay);
      ratio = 1.0f;
    }
    if (data.velocity) {
      add_momentum(data, update, ratio);
      ratio = 1.0f;
    }
    const float lr = update.lr * tensors.lr_scale.f32()[block];
    const float keep = decay_inside ? 1.0f : 1.0f - lr * update.weight_decay;
    move_weights(tensors.flat.f32(), entry, cols, data, keep, lr * ratio);
  });
}

}  // namespace

void apply_block_update(Context& context, const BlockTensors& tensors, const BlockUpdate& update) {
  context.compute(update_blocks, tensors, update);
}

}  // namespace dashlm::cpu
