// One transformer layer: y = m + MLP(RMSNorm(m)) with m = x + Attention(RMSNorm(x)).
#pragma once

#include <functional>

#include "model/parameters.h"
#include "ops/core/context.h"
#include "ops/core/matmul.h"

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

// The tensors that a layer's forward pass leaves for its backward pass, besides its input. They
// have the compute type unless stated otherwise.
struct LayerActivations {
  Tensor norm1, rstd1;  // (N, d), (N) f32
  Tensor qkv;           // (N, (H + 2G)·h), rotated
  Tensor log_sum_exp;   // (B, H, T) f32
  Tensor attended;      // (N, H·h)
  Tensor middle;        // (N, d): the residual stream between attention and MLP, of its type
  Tensor norm2, rstd2;  // (N, d), (N) f32
  Tensor gate_up;       // (N, 2f)
  Tensor hidden;        // (N, f)

  static LayerActivations take(Arena& arena, const ModelConfig& config, const ModelTypes& types,
                               const BatchShape& shape);
};

// The gradient of the residual stream (N, d) on its way down the layers.
struct ResidualGradient {
  Tensor sum;      // of the stream's type; layers add to it
  Tensor operand;  // the same values in the compute type, for products; may be `sum` itself

  static ResidualGradient take(Arena& arena, const ModelTypes& types, Shape shape);
  // The tensor that rms_norm_backward() writes besides `sum`; absent for none.
  Tensor rounded() const { return operand.dtype == sum.dtype ? Tensor{} : operand; }
};

// Computes `attended` from `qkv`: causal attention over the batch, or attention over a cache.
using AttentionFunction = std::function<void(const LayerActivations&)>;

// The products that end attention and MLP add to the residual stream. This moves as many bytes as a
// normalisation that also adds, and rounds nothing before the addition.
struct Layer {
  const ModelConfig& config;
  const LayerTensors& weights;
  const Tensor& rope_table;  // (T_max, h/2, 2)

  // Computes all activations up to `hidden` from x (N, d). output() is separate, so that a layer
  // that is recomputed for its backward pass leaves it out.
  void forward(Context& context, const LayerActivations& a, const Tensor& x,
               const BatchShape& shape) const;
  // The same with another attention, for tokens that begin at `first_position`.
  void forward(Context& context, const LayerActivations& a, const Tensor& x,
               const BatchShape& shape, int64_t first_position,
               const AttentionFunction& attend) const;
  // y (N, d) = middle + hidden · downᵀ
  void output(Context& context, const LayerActivations& a, const Tensor& y) const;

  // d holds the gradient of y and receives the gradient of x. Gradients of weights are added to
  // `gradients`. `a.gate_up` is overwritten.
  void backward(Context& context, const LayerActivations& a, const Tensor& x,
                const ResidualGradient& d, const LayerTensors& gradients,
                const BatchShape& shape) const;
};

}  // namespace dashlm
