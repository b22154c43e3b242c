// The CUDA backend's side of src/ops: one function per operation, with the meaning and the shapes
// given in the operation's own header. Arguments were checked by the caller.
//
// Each takes its scratch memory from context.scratch first and returns if context.planning(); then
// it queues its work on the device's stream without waiting for it. Those that return a number
// wait.
#pragma once

#include "ops/blocks/adamw.h"
#include "ops/blocks/blocks.h"
#include "ops/core/matmul.h"
#include "ops/model/attention.h"
#include "ops/model/rope.h"
#include "ops/roots/root_iteration.h"
#include "ops/stacks/stack_linalg.h"

namespace dashlm::cuda {

// --- matmul.cu, symmetric_matmul.cu: products through cuBLASLt. `addend` may be null, or C itself.
void matmul(Context& context, const Tensor& c, const Tensor* addend, const Tensor& a,
            const Tensor& b, const MatmulOptions& options);
void update_factors(Context& context, const Tensor& factors, const Tensor& blocks, FactorSide side,
                    float beta, float weight, MatmulPrecision precision);
void multiply_blocks(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                     MatmulPrecision precision);
// Memory for a copy of a stack of this shape in `precision`, which is not fp32.
Tensor take_rounded(Context& context, const char* name, const Shape& shape,
                    MatmulPrecision precision);
void round_values(Context& context, const SymmetricStack& stack);
void symmetric_matmul(Context& context, const SymmetricStack& c, const SymmetricStack& a,
                      const SymmetricStack& b, const SymmetricMatmul& options);
// Counts its FLOPs itself.
void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test);
void from_spectrum(Context& context, const Tensor& c, const Tensor& weights, const Tensor& vectors,
                   const Tensor& state, MatmulPrecision precision);
double measure_matmul_peak(Device& device, MatmulPrecision precision, int repeats);

// --- model operations, one file each
void embedding(Context& context, const Tensor& out, const Tensor& table, const Tensor& tokens);
void embedding_backward(Context& context, const Tensor& d_table, const Tensor& d_out,
                        const Tensor& tokens);
void rms_norm(Context& context, const Tensor& out, const Tensor& rstd, const Tensor& x,
              const Tensor& weight, float eps);
void rms_norm_backward(Context& context, const Tensor& d_x, const Tensor& d_weight,
                       const Tensor& d_out, const Tensor& x, const Tensor& rstd,
                       const Tensor& weight, const Tensor* rounded);
void rope(Context& context, const Tensor& x, const Tensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position);
void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
               const AttentionHeads& heads);
void attention_backward(Context& context, const Tensor& d_qkv, const Tensor& d_out,
                        const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
                        const AttentionHeads& heads);
void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const Tensor& qkv, const AttentionHeads& heads, int64_t past);
void swiglu(Context& context, const Tensor& out, const Tensor& gate_up);
void swiglu_backward(Context& context, const Tensor& d_gate_up, const Tensor& d_out,
                     const Tensor& gate_up);
void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const Tensor& logits, const Tensor& targets, float scale);
void cross_entropy_loss(Context& context, const Tensor& losses, const Tensor& logits,
                        const Tensor& targets);
void add_sum(Context& context, const Tensor& total, const Tensor& x);
void add_sum_of_squares(Context& context, const Tensor& total, const Tensor& x);
void convert(Context& context, const Tensor& out, const Tensor& in);

// --- optimizer operations: adamw.cu, blocks.cu
void adamw(Context& context, const Tensor& weights, const Tensor& gradients, const Tensor& places,
           const Tensor& lr_scale, const Tensor& moment1, const Tensor& moment2,
           const AdamwStep& step);
void gather_blocks(Context& context, const Tensor& packed, const Tensor& flat, const Tensor& table);
void scatter_blocks(Context& context, const Tensor& flat, const Tensor& packed,
                    const Tensor& table);
void pack_blocks(Context& context, const Tensor& stack, const Tensor& flat, const Tensor& places,
                 float scale);
void update_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                    float weight);
void update_square_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                           float weight);
void apply_block_update(Context& context, const Tensor& flat, const Tensor& places,
                        const BlockTensors& tensors, const BlockUpdate& update,
                        const Tensor& ratios);

// --- stacks of symmetric matrices: stack_linalg.cu, eigh.cu, root_iteration.cu
void identity_plus(Context& context, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const Tensor& matrix);
void add_to_diagonal(Context& context, const Tensor& matrix, const BlockScalar& value);
void scaled_power(Context& context, const Tensor& out, const Tensor& x, const Tensor* y,
                  double multiplier, double exponent);
void frobenius_norm(Context& context, const Tensor& out, const Tensor& matrix);
void eigenvalue_bound(Context& context, const Tensor& out, const Tensor& matrix);
void power_iteration(Context& context, const Tensor& out, const Tensor& matrix,
                     const PowerIteration& options);
void eigh(Context& context, const Tensor& values, const Tensor& vectors, const Tensor& matrix,
          const Tensor& state, EighPrecision precision);
void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least);
void newton_correction(Context& context, const Tensor& n, const Tensor& m, float a, float b,
                       const NewtonTest& test);
void restart_blocks(Context& context, const Tensor& state);
void spectral_root(Context& context, const Tensor& weights, const Tensor& largest,
                   const Tensor& condition, const Tensor& values, const Tensor& unit,
                   const Tensor& state, const SpectralRoot& options);
void fail_above(Context& context, const Tensor& state, const Tensor& value, float limit);
void store_roots(Context& context, const Tensor& roots, const Tensor& result,
                 const Tensor* multiplier, const Tensor& state);
void report_roots(Context& context, const RootReports& reports, const Tensor& state,
                  const Tensor& unit, bool iterative);

}  // namespace dashlm::cuda
