// Operations of block-wise optimizers on stacks of blocks (N, r, c).
//
// `places` (N, 2) i64 says where each block lies in the flat parameters: the offset of its first
// element, and the elements from one of its rows to the next.
#pragma once

#include <span>
#include <vector>

#include "config/schema.h"
#include "ops/core/context.h"
#include "ops/core/precision.h"

namespace dashlm {

// Where a block lies in flat memory: element (i, j) is at offset + i · row_stride + j.
struct BlockPlace {
  int64_t offset = 0;
  int64_t row_stride = 0;
  int64_t rows = 0, cols = 0;

  int64_t elements() const { return rows * cols; }
};

// A table of n blocks of any shapes, (n, 5) i64: offset, row_stride, rows, cols, and where the
// block begins when all of them are packed one after another, each row-major without gaps.
constexpr int64_t kBlockTableColumns = 5;
std::vector<int64_t> block_table(std::span<const BlockPlace> places);

// packed = blocks of `flat`, and blocks of `flat` = packed, both f32 or both bf16. What of `flat`
// belongs to no block stays.
void gather_blocks(Context& context, const Tensor& packed, const Tensor& flat, const Tensor& table);
void scatter_blocks(Context& context, const Tensor& flat, const Tensor& packed,
                    const Tensor& table);

// stack (N, r, c) = scale · blocks of `flat`.
void pack_blocks(Context& context, const Tensor& stack, const Tensor& flat, const Tensor& places,
                 float scale);

enum class FactorSide { left, right };

// factors (N, n, n) = beta · factors + weight · G·Gᵀ (left, n = r) or Gᵀ·G (right, n = c) for
// G (N, r, c). Half of each symmetric product is computed and mirrored. G is rounded to
// `precision`, products are added up in f32.
void update_factors(Context& context, const Tensor& factors, const Tensor& blocks, FactorSide side,
                    float beta, float weight, MatmulPrecision precision = MatmulPrecision::fp32);

// C = A·B for stacks A (N, r, k) and B (N, k, c), of which L̄·M̃·R̄ is made. A and B are rounded to
// `precision`, products are added up in f32. C must overlap neither.
void multiply_blocks(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                     MatmulPrecision precision);

// average = beta · average + weight · x, and the same for x². Any shape.
void update_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                    float weight);
void update_square_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                           float weight);

// From which rule an update takes its size, per block:
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
  const Tensor& direction;           // (N, r, c): U = L̄·M̃·R̄ if preconditioned; used up
  const Tensor& mean;                // (N, r, c): M̃
  const Tensor& lr_scale;            // (N): multiplies each block's learning rate
  const Tensor* variance = nullptr;  // (N, r, c): V; adam and adagrad
  const Tensor* velocity = nullptr;  // (N, r, c): M; with momentum
};

// Updates the blocks of `flat` in place. With Pg by the grafting rule, per block:
//   P = U · ‖Pg‖_F / (‖U‖_F + 1e-16)       (not preconditioned: P = Pg)
//   M = μ·M + P and P = M, or P = P + μ·M with Nesterov
//   W = W·(1 - lr·wd) - lr·P
// With momentum and decay_in_momentum, P = P + wd·W before the second line, and W = W - lr·P in the
// last (Distributed Shampoo).
// ratios (N) = ‖Pg‖_F / (‖U‖_F + 1e-16), for statistics; 1 where there is none.
void apply_block_update(Context& context, const Tensor& flat, const Tensor& places,
                        const BlockTensors& tensors, const BlockUpdate& update,
                        const Tensor& ratios);

}  // namespace dashlm
