// Llama: forward pass, backward pass, and step-by-step generation.
//
// The model owns no parameters. It is given views of weights and of gradients, and takes
// activations as a stack from an arena. So the trainer decides about memory, and a measuring arena
// (src/tensor/arena.h) tells how much is needed.
#pragma once

#include <functional>
#include <vector>

#include "model/layer.h"

namespace dashlm {

// Keys and values of the positions decoded so far.
struct KeyValueCache {
  std::vector<Tensor> keys, values;  // per layer (T_max, G, h)
  int64_t length = 0;                // positions filled

  static KeyValueCache take(Arena& arena, const ModelConfig& config, DType type, int64_t positions);
};

// Calls that tell how far a pass has got, for the code that moves parameters between ranks. Each
// function may be empty. Offsets lie in the flat parameters. The forward pass reads these from
// start to end. The backward pass completes their gradients from end to start.
struct PassHooks {
  std::function<void(int64_t end)> before_use;  // weights below `end` are about to be read
  std::function<void(int64_t begin)> gradients_complete;  // from `begin` on, for this pass
};

// Looks at the tensors of a forward pass while they hold their values. Either function may be
// empty. Reading a tensor on the host waits for the device, so training passes have no observer.
// Not called while planning.
struct ForwardObserver {
  // Layer i has run. x (N, d) is its input, `a` holds its results.
  std::function<void(int64_t i, const Tensor& x, const LayerActivations& a)> layer;
  std::function<void(const Tensor& x)> end;  // x (N, d), the input of the final norm
};

class Llama {
 public:
  // The model computes in the type of `weights`. The residual stream has type `residual`: f32 or
  // that same type. `table_arena` provides the RoPE table for `positions` positions.
  Llama(Context& context, const ModelConfig& config, const LlamaTensors& weights,
        Arena& table_arena, int64_t positions, DType residual = DType::f32);

  struct Activations {
    Arena& arena;
    bool recompute = false;  // keep only each layer's input and run its forward pass again
  };

  // Computes the losses (N) of predicting targets (N) from tokens (N), both i32, N = B·T. Adds the
  // gradients of loss_scale · sum(losses) to `gradients`. Ignored targets have loss 0.
  void forward_backward(Context& context, const Activations& memory, const Tensor& tokens,
                        const Tensor& targets, const BatchShape& shape, float loss_scale,
                        const LlamaTensors& gradients, const Tensor& losses,
                        const PassHooks& hooks = {}) const;

  // Computes the losses (N) alone, f32.
  void evaluate(Context& context, Arena& activations, const Tensor& tokens, const Tensor& targets,
                const BatchShape& shape, const Tensor& losses,
                const ForwardObserver& observer = {}) const;

  // Computes the logits (N, V) f32 of every position.
  void logits(Context& context, Arena& activations, const Tensor& tokens, const BatchShape& shape,
              const Tensor& logits) const;

  // Appends tokens (n) to the cache. logits (1, V) f32 follow the last of them.
  void decode(Context& context, Arena& activations, KeyValueCache& cache, const Tensor& tokens,
              const Tensor& logits) const;

 private:
  // The offset where the parameters of layer i end; with i = -1, where the embedding ends.
  int64_t end_of_layer(int64_t i) const {
    return i + 1 < config_.n_layer ? weights_.layers[static_cast<size_t>(i + 1)].offset
                                   : weights_.head_offset;
  }
  Layer layer(int64_t i) const {
    return {config_, weights_.layers[static_cast<size_t>(i)], rope_table_};
  }
  // The final residual stream (N, d) of a forward pass that keeps no activations.
  Tensor final_state(Context& context, Arena& activations, const Tensor& tokens,
                     const BatchShape& shape, const ForwardObserver& observer = {}) const;
  // The losses, and with head_backward() the gradients and d, the gradient of x. Tokens are taken a
  // chunk at a time, so that logits (N, V) never exist as a whole.
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
