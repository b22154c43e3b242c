// Llama: forward pass, backward pass, and step-by-step generation.
//
// The model owns no parameters. It is given views of weights and of gradients, and takes
// activations as a stack from an arena: so the trainer decides what memory there is, and a
// measuring arena (src/tensor/arena.h) tells how much is needed.
#pragma once

#include <functional>
#include <vector>

#include "model/layer.h"

namespace dashlm {

// Keys and values of the positions that were already decoded.
struct KeyValueCache {
  std::vector<Tensor> keys, values;  // per layer (T_max, G, h)
  int64_t length = 0;                // positions filled

  static KeyValueCache take(Arena& arena, const ModelConfig& config, DType type, int64_t positions);
};

// Tells whoever moves parameters between ranks how far a pass has got; each function may be empty.
// Offsets are those of the flat parameters, which the forward pass reads from their start to their
// end, and whose gradients the backward pass completes from their end to their start.
struct PassHooks {
  std::function<void(int64_t end)> before_use;  // weights below `end` are about to be read
  std::function<void(int64_t begin)> gradients_complete;  // from `begin` on, for this pass
};

// Looks at the tensors of a forward pass while they hold their values; either function may be
// empty. Reading them on the host waits for the device, so training passes have no observer. Not
// called while planning.
struct ForwardObserver {
  // Layer i has run: x (N, d) is its input, `a` holds what it computed.
  std::function<void(int64_t i, const Tensor& x, const LayerActivations& a)> layer;
  std::function<void(const Tensor& x)> end;  // x (N, d), the input of the final norm
};

class Llama {
 public:
  // It computes in the type of `weights`; the residual stream is of type `residual`, f32 or that
  // same type. `table_arena` provides the RoPE table for `positions` positions.
  Llama(Context& context, const ModelConfig& config, const LlamaTensors& weights,
        Arena& table_arena, int64_t positions, DType residual = DType::f32);

  struct Activations {
    Arena& arena;
    bool recompute = false;  // keep only each layer's input and run its forward pass again
  };

  // Computes losses (N) of predicting targets (N) from tokens (N), both i32 and N = B·T, and adds
  // to `gradients` those of loss_scale · sum(losses). Ignored targets have loss 0.
  void forward_backward(Context& context, const Activations& memory, const Tensor& tokens,
                        const Tensor& targets, const BatchShape& shape, float loss_scale,
                        const LlamaTensors& gradients, const Tensor& losses,
                        const PassHooks& hooks = {}) const;

  // The losses alone, f32.
  void evaluate(Context& context, Arena& activations, const Tensor& tokens, const Tensor& targets,
                const BatchShape& shape, const Tensor& losses,
                const ForwardObserver& observer = {}) const;

  // logits (N, V) f32 of every position.
  void logits(Context& context, Arena& activations, const Tensor& tokens, const BatchShape& shape,
              const Tensor& logits) const;

  // Appends tokens (n) to the cache; logits (1, V) f32 are those after the last of them.
  void decode(Context& context, Arena& activations, KeyValueCache& cache, const Tensor& tokens,
              const Tensor& logits) const;

 private:
  // Where the parameters after those of layer i begin; of the embedding with i = -1.
  int64_t end_of_layer(int64_t i) const {
    return i + 1 < config_.n_layer ? weights_.layers[static_cast<size_t>(i + 1)].offset
                                   : weights_.head_offset;
  }
  Layer layer(int64_t i) const {
    return {config_, weights_.layers[static_cast<size_t>(i)], rope_table_};
  }
  // The final residual stream (N, d) of a forward pass that keeps nothing.
  Tensor final_state(Context& context, Arena& activations, const Tensor& tokens,
                     const BatchShape& shape, const ForwardObserver& observer = {}) const;
  // Loss over a chunk of tokens at a time, so that logits (N, V) never exist as a whole. With
  // gradients also d, the gradient of x.
  void head_backward(Context& context, const Tensor& x, const Tensor& targets, float loss_scale,
                     const LlamaTensors& gradients, const ResidualGradient& d,
                     const Tensor& losses) const;
  void head_losses(Context& context, const Tensor& x, const Tensor& targets,
                   const Tensor& losses) const;

  const ModelConfig config_;
  const LlamaTensors weights_;
  const ModelTypes types_;
  Tensor rope_table_;  // (positions, h/2, 2)
};

}  // namespace dashlm
