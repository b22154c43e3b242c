// One transformer layer: y = m + MLP(RMSNorm(m)) with m = x + Attention(RMSNorm(x)).
#pragma once

#include <functional>

#include "model/parameters.h"
#include "ops/context.h"
#include "ops/matmul.h"

namespace dashlm {

// The two transposed products of a linear layer, whose weight is (out, in).
constexpr MatmulOptions kWeightTransposed{.transpose_b = true};  // input · Wᵀ
constexpr MatmulOptions kWeightGradient{.transpose_a = true};    // d_outputᵀ · input

// B sequences of T tokens; N = B·T.
struct BatchShape {
  int64_t sequences = 0;
  int64_t length = 0;
  int64_t tokens() const { return sequences * length; }
};

// What a layer's forward pass leaves for its backward pass, besides its input.
struct LayerActivations {
  Tensor norm1, rstd1;  // (N, d), (N)
  Tensor qkv;           // (N, (H + 2G)·h), rotated
  Tensor log_sum_exp;   // (B, H, T)
  Tensor attended;      // (N, H·h)
  Tensor middle;        // (N, d): the residual stream between attention and MLP
  Tensor norm2, rstd2;  // (N, d), (N)
  Tensor gate_up;       // (N, 2f)
  Tensor hidden;        // (N, f)

  static LayerActivations take(Arena& arena, const ModelConfig& config, const BatchShape& shape);
};

// Computes attended from qkv: causal attention over the batch, or attention over a cache.
using AttentionFunction = std::function<void(const LayerActivations&)>;

struct Layer {
  const ModelConfig& config;
  const LayerTensors& weights;
  const Tensor& rope_table;  // (T_max, h/2, 2)

  // Everything up to `hidden`; x (N, d). What output() adds to it is cheap to leave out when the
  // layer is recomputed for its backward pass.
  void forward(Context& context, const LayerActivations& a, const Tensor& x,
               const BatchShape& shape) const;
  // The same with another attention, for tokens that begin at `first_position`.
  void forward(Context& context, const LayerActivations& a, const Tensor& x,
               const BatchShape& shape, int64_t first_position,
               const AttentionFunction& attend) const;
  // y (N, d) = middle + hidden · downᵀ
  void output(Context& context, const LayerActivations& a, const Tensor& y) const;

  // d (N, d) holds the gradient of y and receives that of x. Gradients of weights are added to
  // `gradients`. `a.gate_up` is overwritten.
  void backward(Context& context, const LayerActivations& a, const Tensor& x, const Tensor& d,
                const LayerTensors& gradients, const BatchShape& shape) const;
};

}  // namespace dashlm
