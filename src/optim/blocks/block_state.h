// What optimizers on blocks share: where the blocks of a stack lie, the walk over a stack,
// averages, and names of their state.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "ops/core/context.h"
#include "ops/stacks/stack_batches.h"
#include "optim/blocks/block_layout.h"

namespace dashlm {

// --- Configuration

// Bounds of values. An average that forgets nothing has no bias correction; without any epsilon a
// weight that never had a gradient would get 0/0.
constexpr double kBelowOne = 1.0 - 1e-6;
constexpr double kTiny = 1e-30;
constexpr double kMostDecay = 1e3;  // of weights, lr · wd

// --- Places and the walk

// Where a stack of N blocks lies.
struct StackPlaces {
  Tensor table;     // (N, 5) i64: see ops/blocks/block_table.h
  Tensor lr_scale;  // (N)

  static StackPlaces take(Arena& arena, int64_t count);
  void fill(Context& context, const BlockLayout& layout, const BlockStack& stack) const;
};

// Calls body(begin, count) for consecutive parts of a stack, each with scratch memory of its own.
template <class Body>
void for_batches(Context& context, const BlockStack& stack, const Body& body) {
  const int64_t blocks = std::ssize(stack.blocks);
  const int64_t batch = blocks_at_a_time(context, stack.rows * stack.cols);
  for (int64_t begin = 0; begin < blocks; begin += batch) {
    const ArenaScope scope(context.scratch);
    body(begin, std::min(batch, blocks - begin));
  }
}

// `count` blocks of a stack's tensor from `begin` on; an absent tensor has no blocks.
Tensor part_of(const Tensor& tensor, int64_t begin, int64_t count);

// The gradients (count, r, c) of some blocks of a stack, times `scale`, in scratch memory.
Tensor packed_gradient(Context& context, const Tensor& gradients, const BlockStack& stack,
                       const StackPlaces& places, int64_t begin, int64_t count, double scale);

// --- Averages

// average ← β·average + (1-β)·x; β = 1: a plain sum.
void average_in(Context& context, const Tensor& average, const Tensor& x, double beta);
// average ← β·average + (1-β)·x⊙x
void average_squares_in(Context& context, const Tensor& average, const Tensor& x, double beta);
// The weight of a new term beside `beta`.
float new_weight(double beta);
// 1 / (1 - β^t), which undoes the pull of an average towards the zero it started from; 1 for a sum.
double bias_correction(double beta, int64_t update);

// --- State

// Clears those that are there.
void clear_tensors(Context& context, std::initializer_list<Tensor> tensors);
// Appends each block's part of `tensor` (N, r, c) under the name prefix + block.
void add_block_state(std::vector<Tensor>& state, const std::string& prefix, const Tensor& tensor,
                     const BlockLayout& layout, const BlockStack& stack);
// Entry `at` of a stack, (N, r, c) or (N), under its own name.
Tensor entry_of_stack(const Tensor& tensor, size_t at, const std::string& name);
// Sorts the state by name, so that a checkpoint is the same for every stacking.
void sort_by_name(std::vector<Tensor>& state);

}  // namespace dashlm
