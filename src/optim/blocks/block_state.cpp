#include "optim/blocks/block_state.h"

#include <cmath>

#include "ops/blocks/averages.h"
#include "ops/blocks/block_copies.h"

namespace dashlm {

StackPlaces StackPlaces::take(Arena& arena, int64_t count) {
  return {arena.take("block table", {count, kBlockTableColumns}, DType::i64),
          arena.take("lr_scale", {count})};
}

void StackPlaces::fill(Context& context, const BlockLayout& layout, const BlockStack& stack) const {
  std::vector<BlockPlace> places;
  std::vector<float> host_scale;
  for (const size_t index : stack.blocks) {
    const Block& block = layout.blocks()[index];
    places.push_back(block.place);
    host_scale.push_back(static_cast<float>(block.lr_scale));
  }
  const std::vector<int64_t> host_table = block_table(places);
  context.device.upload(table.data, host_table.data(), table.bytes());
  context.device.upload(lr_scale.data, host_scale.data(), lr_scale.bytes());
}

Tensor part_of(const Tensor& tensor, int64_t begin, int64_t count) {
  return tensor ? tensor.rows(begin, count) : Tensor{};
}

Tensor packed_gradient(Context& context, const Tensor& gradients, const BlockStack& stack,
                       const StackPlaces& places, int64_t begin, int64_t count, double scale) {
  Tensor packed = context.scratch.take("gradient", {count, stack.rows, stack.cols});
  pack_blocks(context, packed, gradients, places.table.rows(begin, count),
              static_cast<float>(scale));
  return packed;
}

void average_in(Context& context, const Tensor& average, const Tensor& x, double beta) {
  update_average(context, average, x, static_cast<float>(beta), new_weight(beta));
}

void average_squares_in(Context& context, const Tensor& average, const Tensor& x, double beta) {
  update_square_average(context, average, x, static_cast<float>(beta), new_weight(beta));
}

float new_weight(double beta) {
  return static_cast<float>(beta < 1 ? 1.0 - beta : 1.0);
}

double bias_correction(double beta, int64_t update) {
  return beta < 1 ? 1.0 / (1.0 - std::pow(beta, static_cast<double>(update))) : 1.0;
}

void clear_tensors(Context& context, std::initializer_list<Tensor> tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.data) context.device.clear(tensor.data, tensor.bytes());
  }
}

Tensor entry_of_stack(const Tensor& tensor, size_t at, const std::string& name) {
  Tensor entry = tensor.rows(static_cast<int64_t>(at), 1);
  if (entry.rank() == 3) entry = entry.view({entry.dim(1), entry.dim(2)});
  entry.name = name;
  return entry;
}

void add_block_state(std::vector<Tensor>& state, const std::string& prefix, const Tensor& tensor,
                     const BlockLayout& layout, const BlockStack& stack) {
  if (!tensor) return;  // this optimizer keeps no such state
  for (size_t at = 0; at < stack.blocks.size(); ++at) {
    state.push_back(entry_of_stack(tensor, at, prefix + layout.blocks()[stack.blocks[at]].name));
  }
}

void sort_by_name(std::vector<Tensor>& state) {
  std::sort(state.begin(), state.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
}

}  // namespace dashlm
