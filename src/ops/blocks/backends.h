// The operations of this room as each backend implements them: with the signature and the meaning
// of the operation itself, but on checked arguments.
#pragma once

#include "ops/blocks/adamw.h"
#include "ops/blocks/averages.h"
#include "ops/blocks/block_copies.h"
#include "ops/blocks/block_products.h"
#include "ops/blocks/block_table.h"
#include "ops/blocks/block_update.h"

namespace dashlm::cpu {
decltype(dashlm::adamw) adamw;
decltype(dashlm::apply_block_update) apply_block_update;
decltype(dashlm::gather_blocks) gather_blocks;
decltype(dashlm::multiply_blocks) multiply_blocks;
decltype(dashlm::pack_blocks) pack_blocks;
decltype(dashlm::scatter_blocks) scatter_blocks;
decltype(dashlm::update_average) update_average;
decltype(dashlm::update_factors) update_factors;
decltype(dashlm::update_square_average) update_square_average;
}  // namespace dashlm::cpu

namespace dashlm::cuda {
decltype(dashlm::adamw) adamw;
decltype(dashlm::apply_block_update) apply_block_update;
decltype(dashlm::gather_blocks) gather_blocks;
decltype(dashlm::multiply_blocks) multiply_blocks;
decltype(dashlm::pack_blocks) pack_blocks;
decltype(dashlm::scatter_blocks) scatter_blocks;
decltype(dashlm::update_average) update_average;
decltype(dashlm::update_factors) update_factors;
decltype(dashlm::update_square_average) update_square_average;
}  // namespace dashlm::cuda
