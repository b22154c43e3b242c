#include "optim/blocks/block_layout.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dashlm {
namespace {

// What must be equal for blocks to share a stack, besides their shape.
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

}  // namespace

BlockLayout::BlockLayout(const ParameterLayout& layout, const BlockOptions& options,
                         const std::vector<bool>& trainable)
    : phases_(options.phases) {
  const ModelConfig& model = layout.model();
  const int64_t size = options.block_size;
  for (size_t i = 0; i < layout.parameters().size(); ++i) {
    const Parameter& parameter = layout.parameters()[i];
    if (!trainable[i]) continue;
    if (options.split_qkv && parameter.name.ends_with(".qkv")) {
      const int64_t query = model.n_head * model.head_dim(),
                    key = model.n_kv_head * model.head_dim();
      cut(parameter, i, parameter.name + ".q", 0, query, size);
      cut(parameter, i, parameter.name + ".k", query, key, size);
      cut(parameter, i, parameter.name + ".v", query + key, key, size);
    } else {
      cut(parameter, i, parameter.name, 0, parameter.shape[0], size);
    }
  }
  stack_blocks(options);
}

// Cuts rows [first_row, first_row + rows) of a parameter; a vector is a matrix of one column.
void BlockLayout::cut(const Parameter& parameter, size_t index, const std::string& name,
                      int64_t first_row, int64_t rows, int64_t block_size) {
  const int64_t cols = parameter.is_matrix() ? parameter.shape[1] : 1;
  for (int64_t i = 0; i < rows; i += block_size) {
    for (int64_t j = 0; j < cols; j += block_size) {
      const int64_t r = std::min(block_size, rows - i), c = std::min(block_size, cols - j);
      std::string range = fmt::format("[{}:{}", i, i + r);
      if (parameter.is_matrix()) range += fmt::format(", {}:{}", j, j + c);
      blocks_.push_back({name + range + "]", index, parameter.offset + (first_row + i) * cols + j,
                         cols, r, c, !parameter.is_matrix()});
    }
  }
}

void BlockLayout::stack_blocks(const BlockOptions& options) {
  // Blocks of matrices and of vectors are kept apart even where both have one column.
  std::map<std::tuple<int64_t, bool, int64_t, int64_t>, size_t> known;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const auto key =
        std::tuple(group_of(block, i, options.stacking), block.vector, block.rows, block.cols);
    const auto [entry, is_new] = known.try_emplace(key, stacks_.size());
    if (is_new) stacks_.push_back({block.rows, block.cols, {}, block.vector, {}, {}});
    stacks_[entry->second].blocks.push_back(i);
  }
  const auto phase_of = [&](size_t block) { return static_cast<int64_t>(block) % phases_; };
  for (BlockStack& stack : stacks_) {
    std::stable_sort(stack.blocks.begin(), stack.blocks.end(),
                     [&](size_t a, size_t b) { return phase_of(a) < phase_of(b); });
    if (stack.vector && !options.vector_factors) continue;
    const size_t first = stack.blocks.front();
    const int64_t group = group_of(blocks_[first], first, options.stacking);
    stack.left = add_factors(stack, false, group);
    if (!stack.vector) stack.right = add_factors(stack, true, group);
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
      if (static_cast<int64_t>(block) % phases_ != phase) continue;
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
