#include "ops/blocks/backends.h"
#include "ops/stacks/cuda/stack_walk.cuh"

namespace dashlm::cuda {
namespace {

// The grafting rule's update Pg of an element.
struct Graft {
  const float* mean;
  const float* variance;  // or null, where the rule has none
  float mean_correction, variance_correction, eps;

  __device__ float operator()(int64_t i) const {
    const float m = mean[i] * mean_correction;
    return variance ? m / (eps + sqrtf(variance[i] * variance_correction)) : m;
  }
};

// Sums of squares over a block's parts along x, (N, 2, parts): of the direction, of Pg.
__global__ void sum_squares(double* sums, const float* direction, const Graft graft, int64_t blocks,
                            int64_t elements) {
  const int64_t parts = gridDim.x;
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const int64_t first = block * elements;
    double directed = 0, grafted = 0;
    for (int64_t i = first_element(); i < elements; i += element_step()) {
      const auto d = static_cast<double>(direction[first + i]);
      const auto p = static_cast<double>(graft(first + i));
      directed += d * d;
      grafted += p * p;
    }
    directed = block_sum(directed);
    grafted = block_sum(grafted);
    if (threadIdx.x == 0) {
      double* out = sums + 2 * block * parts + blockIdx.x;
      out[0] = directed;
      out[parts] = grafted;
    }
  }
}

// ‖Pg‖_F / (‖direction‖_F + 1e-16), by one CUDA block for each of the stack.
__global__ void graft_ratios(float* ratios, const double* sums, int64_t parts) {
  const int64_t block = blockIdx.x;
  const double* in = sums + 2 * block * parts;
  double directed = 0, grafted = 0;
  for (int64_t i = threadIdx.x; i < parts; i += blockDim.x) {
    directed += in[i];
    grafted += in[parts + i];
  }
  directed = block_sum(directed);
  grafted = block_sum(grafted);
  if (threadIdx.x == 0) {
    ratios[block] = static_cast<float>(sqrt(grafted) / (sqrt(directed) + 1e-16));
  }
}

__global__ void fill(float* out, int64_t count, float value) {
  for (int64_t i = first_element(); i < count; i += element_step()) out[i] = value;
}

// What the elements of a stack take part in.
struct Move {
  float* weights;
  const BlockEntry* table;
  const float *lr_scale, *ratios;  // (N)
  const float* direction;          // or null: Pg
  float* velocity;                 // or null: no momentum
  float lr, momentum;
  float decay;              // wd outside of the velocity
  float decay_in_momentum;  // wd inside of it
  bool nesterov;
};

__global__ void move_weights(const Move move, const Graft graft, int64_t blocks, int64_t elements,
                             int64_t cols) {
  for (int64_t block = blockIdx.y; block < blocks; block += gridDim.y) {
    const int64_t offset = move.table[block].offset, row_stride = move.table[block].row_stride;
    const float ratio = move.ratios[block];
    const float lr = move.lr * move.lr_scale[block], keep = 1.0f - lr * move.decay;
#pragma unroll 1  // threads in flight are worth more than registers
    for (Walk at(cols); at.element < elements; at.next()) {
      const int64_t i = block * elements + at.element;
      float& target = move.weights[offset + at.row * row_stride + at.col];
      const float weight = target;  // read before anything is written: loads in flight together
      float p = ratio * (move.direction ? move.direction[i] : graft(i));
      if (move.velocity) {
        p += move.decay_in_momentum * weight;
        const float velocity = move.momentum * move.velocity[i] + p;
        move.velocity[i] = velocity;
        p = move.nesterov ? p + move.momentum * velocity : velocity;
      }
      target = keep * weight - lr * p;
    }
  }
}

}  // namespace

void apply_block_update(Context& context, const BlockTensors& tensors, const BlockUpdate& update) {
  const int64_t blocks = tensors.mean.dim(0), cols = tensors.mean.dim(2);
  const int64_t elements = tensors.mean.dim(1) * cols;
  const LaunchShape shape = for_stack(blocks, elements);
  const int64_t parts = shape.grid.x;
  const ArenaScope scope(context.scratch);
  // Even where this update needs none: a plan made at update 1 serves the preconditioned ones too.
  const Tensor sums = context.scratch.take("block update.sums", {blocks, 2, parts}, DType::f64);

  const Graft graft{.mean = tensors.mean.f32(),
                    .variance = has_variance(update.grafting) ? tensors.variance.f32() : nullptr,
                    .mean_correction = update.mean_correction,
                    .variance_correction = update.variance_correction,
                    .eps = update.graft_eps};
  const float* direction = update.preconditioned ? tensors.direction.f32() : nullptr;
  if (direction && update.grafting != Grafting::none) {
    launch(context, sum_squares, shape, sums.as<double>(), direction, graft, blocks, elements);
    const LaunchShape one_each{dim3(static_cast<unsigned>(blocks)), dim3(threads_for(parts))};
    launch(context, graft_ratios, one_each, tensors.ratios.f32(), sums.as<double>(), parts);
  } else {
    // Without grafting only the bias of the mean, from which the direction was made, is undone.
    const float ratio = direction ? update.mean_correction : 1.0f;
    launch(context, fill, for_elements(blocks), tensors.ratios.f32(), blocks, ratio);
  }
  const bool decay_inside = bool(tensors.velocity) && update.decay_in_momentum;
  const Move move{.weights = tensors.flat.f32(),
                  .table = entries_of(tensors.table),
                  .lr_scale = tensors.lr_scale.f32(),
                  .ratios = tensors.ratios.f32(),
                  .direction = direction,
                  .velocity = tensors.velocity.f32(),
                  .lr = update.lr,
                  .momentum = update.momentum,
                  .decay = decay_inside ? 0.0f : update.weight_decay,
                  .decay_in_momentum = decay_inside ? update.weight_decay : 0.0f,
                  .nesterov = update.nesterov};
  launch(context, move_weights, shape, move, graft, blocks, elements, cols);
}

}  // namespace dashlm::cuda
