// The CPU backend's side of src/ops/blocks/blocks.h.
#pragma once

#include "ops/blocks/blocks.h"

namespace dashlm::cpu {

void gather_blocks(const Tensor& packed, const Tensor& flat, const Tensor& table);
void scatter_blocks(const Tensor& flat, const Tensor& packed, const Tensor& table);
void pack_blocks(const Tensor& stack, const Tensor& flat, const Tensor& places, float scale);
void update_factors(const Tensor& factors, const Tensor& blocks, FactorSide side, float beta,
                    float weight);
void update_average(const Tensor& average, const Tensor& x, float beta, float weight);
void update_square_average(const Tensor& average, const Tensor& x, float beta, float weight);
void apply_block_update(const Tensor& flat, const Tensor& places, const BlockTensors& tensors,
                        const BlockUpdate& update, const Tensor& ratios);

}  // namespace dashlm::cpu
