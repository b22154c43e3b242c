// What block-wise optimizers share: where the blocks of a stack lie, and names of their state.
#pragma once

#include <string>
#include <vector>

#include "ops/core/context.h"
#include "optim/blocks/block_layout.h"

namespace dashlm {

// Of a stack of N blocks.
struct StackPlaces {
  Tensor offsets;   // (N, 2) i64: `places` of ops/blocks/blocks.h
  Tensor lr_scale;  // (N)

  static StackPlaces take(Arena& arena, int64_t count);
  void fill(Context& context, const BlockLayout& layout, const BlockStack& stack) const;
};

// Appends each block's part of `tensor` (N, r, c) under the name prefix + block.
void add_block_state(std::vector<Tensor>& state, const std::string& prefix, const Tensor& tensor,
                     const BlockLayout& layout, const BlockStack& stack);
// Entry `at` of a stack, (N, r, c) or (N), under a name of its own.
Tensor entry_of_stack(const Tensor& tensor, size_t at, const std::string& name);
// So that a checkpoint is the same whatever the stacking.
void sort_by_name(std::vector<Tensor>& state);

}  // namespace dashlm
