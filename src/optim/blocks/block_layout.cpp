#include "optim/blocks/block_layout.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dashlm {
namespace {

// Blocks share a stack if their shapes and these values are equal.
int64_t group_of(const Block& block, size_t index, Stacking stacking) {
  switch (stacking) {
    case Stacking::block:
      return static_cast<int64_t>(index);
    case Stacking::layer:
      return static_cast<int64_t>(block.parameter);
    case Stacking::rank:
      return 0;
  }
  return 0;
}

// Cuts rows [first_row, first_row + rows) of a parameter; a vector is a matrix of one column.
void cut_rows(std::vector<Block>& blocks, const Parameter& parameter, const Block& like,
              int64_t first_row, int64_t rows, int64_t block_size) {
  const int64_t cols = parameter.is_matrix() ? parameter.shape[1] : 1;
  for (int64_t i = 0; i < rows; i += block_size) {
    for (int64_t j = 0; j < cols; j += block_size) {
      const int64_t r = std::min(block_size, rows - i), c = std::min(block_size, cols - j);
      Block block = like;
      block.name += fmt::format("[{}:{}", i, i + r);
      if (parameter.is_matrix()) block.name += fmt::format(", {}:{}", j, j + c);
      block.name += "]";
      block.id = std::ssize(blocks);
      block.place = {parameter.offset + (first_row + i) * cols + j, cols, r, c};
      blocks.push_back(std::move(block));
    }
  }
}

}  // namespace

void cut_parameter(std::vector<Block>& blocks, const Parameter& parameter, const Block& like,
                   const BlockCut& cut) {
  std::vector<RowGroup> groups = parameter.row_groups;
  if (!cut.split_row_groups || groups.empty()) groups = {{"", parameter.shape[0]}};
  int64_t first_row = 0;
  for (const RowGroup& group : groups) {
    Block of_group = like;
    of_group.name = parameter.name + group.name;
    of_group.vector = !parameter.is_matrix();
    cut_rows(blocks, parameter, of_group, first_row, group.rows, cut.block_size);
    first_row += group.rows;
  }
}

// The remainder of the id will not do. A rank owns about every R-th block. If R and the number of
// phases have a common factor, the rank would have all its work in a few phases. The sum of the
// id's octal prefixes moves on by another step in each round of eight.
int64_t phase_of(const Block& block, int64_t phases) {
  int64_t sum = 0;
  for (int64_t prefix = block.id; prefix > 0; prefix /= 8) sum += prefix;
  return sum % phases;
}

BlockLayout::BlockLayout(std::vector<Block> blocks, const StackOptions& options)
    : phases_(options.phases), blocks_(std::move(blocks)) {
  add_to_stacks(options.stacking);
  for (BlockStack& stack : stacks_) {
    std::stable_sort(stack.blocks.begin(), stack.blocks.end(), [&](size_t a, size_t b) {
      return phase_of(blocks_[a], phases_) < phase_of(blocks_[b], phases_);
    });
    if (!(stack.vector ? options.vector_factors : options.matrix_factors)) continue;
    const size_t first = stack.blocks.front();
    const int64_t group = group_of(blocks_[first], first, options.stacking);
    stack.left = add_factors(stack, false, group);
    if (!stack.vector) stack.right = add_factors(stack, true, group);
  }
}

void BlockLayout::add_to_stacks(Stacking stacking) {
  // Blocks of matrices and of vectors are kept apart even where both have one column.
  std::map<std::tuple<int64_t, bool, int64_t, int64_t>, size_t> known;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const auto key =
        std::tuple(group_of(block, i, stacking), block.vector, block.place.rows, block.place.cols);
    const auto [entry, is_new] = known.try_emplace(key, stacks_.size());
    if (is_new) stacks_.push_back({block.place.rows, block.place.cols, {}, block.vector, {}, {}});
    stacks_[entry->second].blocks.push_back(i);
  }
}

FactorRange BlockLayout::add_factors(const BlockStack& stack, bool right, int64_t group) {
  const int64_t size = right ? stack.cols : stack.rows;
  size_t at = 0;
  while (at < factor_stacks_.size() &&
         (factor_stacks_[at].size != size || factor_stacks_[at].one_sided != stack.vector ||
          factor_groups_[at] != group)) {
    ++at;
  }
  if (at == factor_stacks_.size()) {
    factor_stacks_.push_back({size, stack.vector, {}});
    factor_groups_.push_back(group);
  }
  std::vector<Factor>& factors = factor_stacks_[at].factors;
  const FactorRange range{at, std::ssize(factors), std::ssize(stack.blocks)};
  for (const size_t block : stack.blocks) factors.push_back({block, right});
  return range;
}

std::vector<FactorRange> BlockLayout::factors_of_phase(int64_t phase) const {
  std::vector<FactorRange> ranges;
  for (size_t i = 0; i < factor_stacks_.size(); ++i) {
    const std::vector<Factor>& factors = factor_stacks_[i].factors;
    for (int64_t at = 0; at < std::ssize(factors); ++at) {
      const size_t block = factors[static_cast<size_t>(at)].block;
      if (phase_of(blocks_[block], phases_) != phase) continue;
      const bool adjacent = !ranges.empty() && ranges.back().stack == i &&
                            ranges.back().first + ranges.back().count == at;
      if (!adjacent) ranges.push_back({i, at, 0});
      ++ranges.back().count;
    }
  }
  return ranges;
}

std::string BlockLayout::name_of(const Factor& factor) const {
  return (factor.right ? "R of " : "L of ") + blocks_[factor.block].name;
}

}  // namespace dashlm
