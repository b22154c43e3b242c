// Copies of blocks between the flat parameters and packed memory. `table` (N, 5) i64 says where the
// blocks lie: see block_table.h.
#pragma once

#include "ops/blocks/block_table.h"
#include "ops/core/context.h"

namespace dashlm {

// packed = blocks of `flat`, and blocks of `flat` = packed, both f32 or both bf16. Elements of
// `flat` outside the blocks stay.
void gather_blocks(Context& context, const Tensor& packed, const ConstTensor& flat,
                   const ConstTensor& table);
void scatter_blocks(Context& context, const Tensor& flat, const ConstTensor& packed,
                    const ConstTensor& table);

// stack (N, r, c) = scale · blocks of `flat`.
void pack_blocks(Context& context, const Tensor& stack, const ConstTensor& flat,
                 const ConstTensor& table, float scale);

}  // namespace dashlm
