// Linear algebra on stacks of symmetric matrices (S, n, n) f32, block by block.
//
// A block's result depends on neither its neighbours, nor its place in the stack, nor the number of
// threads: permuting a stack permutes the result, bit for bit. Scalars of a block are tensors (S),
// so that on any device one operation follows the other without waiting for the host.
//
// `state` (S) i32, where an operation takes one, says which blocks still take part: those with
// kActive set. The others are left alone.
#pragma once

#include <span>

#include "ops/core/context.h"
#include "ops/stacks/symmetric_stack.h"

namespace dashlm {

// Bits of a block's state.
constexpr int32_t kActive = 1;  // still being worked on
constexpr int32_t kLate = 2;    // ran out of steps in an earlier iteration
constexpr int32_t kFailed = 4;  // not finite, LAPACK error, or diverged
constexpr int32_t kZero = 8;    // all elements are zero

// --- Products and sums

struct SymmetricMatmul {
  float alpha = 1.0f;
  float beta = 0.0f;
  float diagonal = 0.0f;
  MatmulPrecision precision = MatmulPrecision::fp32;
  ConstTensor state = {};  // (S) i32; absent: all blocks are active
  // The result for blocks that are not active: C stays as it is, or becomes A or B. With a copy, an
  // iteration writes to another buffer (X' = X·N) and yet leaves finished blocks alone.
  enum class Inactive { keep, copy_a, copy_b } inactive = Inactive::keep;
};

// C = alpha·A·B + beta·C + diagonal·I for A and B whose product is symmetric up to rounding, as for
// polynomials of one matrix. Only the lower triangle is computed, and then mirrored. So C is
// exactly symmetric, and costs down to half a product. A and B may be the same; C may be neither.
// All (S, n, n). Counted as 2n³ floating-point operations a block.
//
// If C has a copy but no values, beta and diagonal must be 0, and blocks that are not active become
// undefined.
void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options = {});

// A number for each block: constant · per_block[s], or the constant alone.
struct BlockScalar {
  float constant = 0.0f;
  ConstTensor per_block = {};  // (S), or absent
};

// C = a·I + b·A; C may be A.
void identity_plus(Context& context, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const ConstTensor& matrix);

// A += value·I
void add_to_diagonal(Context& context, const Tensor& matrix, const BlockScalar& value);

// out (S) = multiplier · (x·y)^exponent for x, y (S), in double precision inside; y may be
// absent: 1.
void scaled_power(Context& context, const Tensor& out, const ConstTensor& x, const ConstTensor& y,
                  double multiplier, double exponent);

// --- Estimates of the largest eigenvalue
// All expect blocks whose elements are neither huge nor tiny: see
// normalize_blocks().

void frobenius_norm(Context& context, const Tensor& out, const ConstTensor& matrix);  // out (S)

// out (S) = min(Frobenius norm, largest sum of magnitudes in a row): an upper bound.
void eigenvalue_bound(Context& context, const Tensor& out, const ConstTensor& matrix);

struct PowerIteration {
  int64_t pool = 1;    // start vectors; the largest estimate counts
  int64_t steps = 10;  // products with each
  uint64_t seed = 0;
  int64_t step = 0;
  std::span<const int64_t> block_ids;  // (S)
  // A is rounded to this precision, and v each time. Sums and lengths are fp32 or better.
  MatmulPrecision precision = MatmulPrecision::fp32;
};

// out (S) = ‖A·v‖ after `steps` products, v normalised each time. The start vectors are uniform in
// [-1, 1)^n, a function of (seed, step, block id) alone.
void power_iteration(Context& context, const Tensor& out, const ConstTensor& matrix,
                     const PowerIteration& options);

// --- Eigen-decomposition

enum class EighPrecision { float32, float64 };

template <>
struct EnumNames<EighPrecision> {
  static constexpr std::pair<EighPrecision, const char*> names[] = {
      {EighPrecision::float32, "float32"},
      {EighPrecision::float64, "float64"},
  };
};

// values (S, n) ascending; row i of vectors (S, n, n) is the eigenvector of value i. A block that
// fails in float32 is done again in float64; if that fails too, kFailed is set in its state. Blocks
// that are not active are left alone.
void eigh(Context& context, const Tensor& values, const Tensor& vectors, const ConstTensor& matrix,
          const Tensor& state, EighPrecision precision);

// C = Vᵀ·diag(weights)·V for vectors V (S, n, n) in rows and weights (S, n); exactly symmetric. If
// products take rounded operands, V and diag(weights/u)·V are rounded. u is the largest weight of
// the block, rounded down to a power of two, and multiplies the product at the end. So fp16, which
// ends at 65504, takes weights of any size. Only weights far below the largest lose digits.
void from_spectrum(Context& context, const Tensor& c, const ConstTensor& weights,
                   const ConstTensor& vectors, const ConstTensor& state,
                   MatmulPrecision precision = MatmulPrecision::fp32);

}  // namespace dashlm
