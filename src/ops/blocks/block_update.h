// The update of a stack of blocks (N, r, c) along preconditioned directions.
#pragma once

#include "config/schema.h"
#include "ops/core/context.h"

namespace dashlm {

// The rule from which an update takes its size, per block:
//   adam     m̂ / (eps + sqrt(v̂))      adagrad  m̂ / (eps + sqrt(v)), v a plain sum
//   sgd      m̂                        none     no grafting: the preconditioned direction itself
// with m̂ and v̂ corrected for their bias.
enum class Grafting { adam, adagrad, sgd, none };

template <>
struct EnumNames<Grafting> {
  static constexpr std::pair<Grafting, const char*> names[] = {
      {Grafting::adam, "adam"},
      {Grafting::adagrad, "adagrad"},
      {Grafting::sgd, "sgd"},
      {Grafting::none, "none"},
  };
};

// Whether the rule needs V.
constexpr bool has_variance(Grafting grafting) {
  return grafting == Grafting::adam || grafting == Grafting::adagrad;
}

struct BlockUpdate {
  bool preconditioned = false;
  float lr = 0;
  float weight_decay = 0;  // wd, decoupled
  Grafting grafting = Grafting::adam;
  float graft_eps = 0;
  float mean_correction = 1;      // multiplies m: 1/(1-βG^t)
  float variance_correction = 1;  // multiplies v: 1/(1-βgr^t), or 1
  float momentum = 0;             // μ
  bool nesterov = false;
  bool decay_in_momentum = false;  // with momentum: the velocity takes up wd·W too
};

// The tensors of a stack of blocks (N, r, c).
struct BlockTensors {
  Tensor flat;           // the weights: its blocks are updated in place
  ConstTensor table;     // (N, 5) i64: see block_table.h
  Tensor direction;      // (N, r, c): U = L̄·M̃·R̄ if preconditioned; used up
  ConstTensor mean;      // (N, r, c): M̃
  ConstTensor lr_scale;  // (N): multiplies each block's learning rate
  Tensor ratios;  // (N): ‖Pg‖_F / (‖U‖_F + 1e-16), for statistics; 1 where there is none
  ConstTensor variance = {};  // (N, r, c): V; adam and adagrad
  Tensor velocity = {};       // (N, r, c): M; with momentum
};

// With Pg by the grafting rule, per block:
//   P = U · ‖Pg‖_F / (‖U‖_F + 1e-16)       (not preconditioned: P = Pg)
//   M = μ·M + P and P = M, or P = P + μ·M with Nesterov
//   W = W·(1 - lr·wd) - lr·P
// With momentum and decay_in_momentum, P = P + wd·W before the second line, and W = W - lr·P in the
// last (Distributed Shampoo).
void apply_block_update(Context& context, const BlockTensors& tensors, const BlockUpdate& update);

}  // namespace dashlm
