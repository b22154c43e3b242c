#include "optim/optimizer.h"

#include <cmath>

#include "base/error.h"
#include "optim/adamw/adamw.h"
#include "optim/shampoo/block_shampoo.h"

namespace dashlm {

std::vector<Block> optimizer_blocks(const OptimizerConfig& config, const ParameterLayout& layout) {
  const bool adamw = config.type == OptimizerType::adamw;
  const int64_t size = adamw ? config.adamw.block_size : config.dash.block_size;
  std::vector<Block> blocks = cut_into_blocks(layout, size, !adamw && config.dash.split_qkv,
                                              lr_multipliers(layout, config.lr_scale));
  // What a checkpoint can name: a safetensors header is at most 100 MB, a block takes up to 1 kB.
  constexpr int64_t kMostBlocks = 100000;
  require(std::ssize(blocks) <= kMostBlocks,
          "optimizer.block_size = {} cuts the parameters into {} blocks, but at most {} are "
          "possible; choose a larger one",
          size, blocks.size(), kMostBlocks);
  return blocks;
}

double block_cost(const OptimizerConfig& config, const Block& block) {
  const auto cube = [](int64_t n) { return std::pow(static_cast<double>(n), 3); };
  const bool factors = config.type != OptimizerType::adamw && block.lr_scale != 0 &&
                       (!block.vector || config.dash.vectors == VectorRule::shampoo);
  if (!factors) return static_cast<double>(block.place.elements());
  return cube(block.place.rows) + (block.vector ? 0.0 : cube(block.place.cols));
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<Block> blocks,
                                          const Tensor& weights, const Tensor& gradients,
                                          Arena& arena, uint64_t seed) {
  std::erase_if(blocks, [](const Block& block) { return block.lr_scale == 0; });
  if (config.type == OptimizerType::adamw) {
    return std::make_unique<Adamw>(config.adamw, std::move(blocks), weights, gradients, arena);
  }
  return std::make_unique<Dash>(config.dash, std::move(blocks), weights, gradients, arena, seed);
}

}  // namespace dashlm
