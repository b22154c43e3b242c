// The CPU backend's side of src/ops: one function per operation, with the meaning and the shapes
// given in the operation's own header. Arguments were checked by the caller, and are f32 except
// where run.h's stand-ins are made.
#pragma once

#include "ops/blocks/adamw.h"
#include "ops/core/matmul.h"
#include "ops/model/attention.h"
#include "ops/model/rope.h"

namespace dashlm::cpu {

void convert(const Tensor& out, const Tensor& in);

// `addend` may be null, or C itself.
void matmul(const Tensor& c, const float* addend, const Tensor& a, const Tensor& b,
            const MatmulOptions& options);

void embedding(const Tensor& out, const Tensor& table, const Tensor& tokens);
void embedding_backward(const Tensor& d_table, const Tensor& d_out, const Tensor& tokens);

void rms_norm(const Tensor& out, const Tensor& rstd, const Tensor& x, const Tensor& weight,
              float eps);
void rms_norm_backward(const Tensor& d_x, const Tensor& d_weight, const Tensor& d_out,
                       const Tensor& x, const Tensor& rstd, const Tensor& weight);

void rope(const Tensor& x, const Tensor& table, int64_t heads, RopeDirection direction,
          int64_t first_position);

// Floats of all threads' work, for sequences of `positions` and heads of `width`.
int64_t attention_scratch(int64_t positions, int64_t width);
void attention(const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
               const AttentionHeads& heads, const Tensor& work);
void attention_backward(const Tensor& d_qkv, const Tensor& d_out, const Tensor& out,
                        const Tensor& log_sum_exp, const Tensor& qkv, const AttentionHeads& heads,
                        const Tensor& work);
void cached_attention(const Tensor& out, const Tensor& keys, const Tensor& values,
                      const Tensor& qkv, const AttentionHeads& heads, int64_t past,
                      const Tensor& work);

void swiglu(const Tensor& out, const Tensor& gate_up);
void swiglu_backward(const Tensor& d_gate_up, const Tensor& d_out, const Tensor& gate_up);

void cross_entropy(const Tensor& losses, const Tensor& gradient, const Tensor& logits,
                   const Tensor& targets, float scale);
void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets);

void add_sum(const Tensor& total, const Tensor& x);
void add_sum_of_squares(const Tensor& total, const Tensor& x);

void adamw(const Tensor& weights, const Tensor& gradients, const Tensor& places,
           const Tensor& lr_scale, const Tensor& moment1, const Tensor& moment2,
           const AdamwStep& step);

double measure_matmul_peak(int repeats);

}  // namespace dashlm::cpu
