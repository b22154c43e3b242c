// Rotary position embedding (Su et al. 2021) on interleaved pairs (2i, 2i+1) of each head.
#pragma once

#include "ops/core/context.h"

namespace dashlm {

// table (T, h/2, 2): cosine and sine of position · theta^(-2i/h) for head dimension h. Computed on
// the host in double precision.
void fill_rope_table(Context& context, const Tensor& table, double theta);

enum class RopeDirection { forward, backward };

// x is f32 or bf16; the rotation is done in f32.
// Rotates the first `heads` heads of every row of x (B, T, heads_in_all, h) in place; row t of each
// sequence is position `first_position` + t. `backward` rotates by the opposite angle, which is the
// gradient.
void rope(Context& context, const Tensor& x, const ConstTensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position = 0);

}  // namespace dashlm
