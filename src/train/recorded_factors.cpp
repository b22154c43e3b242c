#include "train/recorded_factors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "io/safetensors_set.h"
#include "model/parameters.h"
#include "optim/shampoo/config.h"
#include "train/checkpoint.h"

namespace dashlm {
namespace {

struct Choice {
  std::string name;
  int64_t n = 0;
};

// The order is that of parameters and blocks, L before R.
std::vector<std::vector<Choice>> factors_by_parameter(const RunConfig& config) {
  std::map<std::pair<size_t, bool>, std::vector<Choice>> groups;
  std::vector<Block> blocks = optimizer_blocks(config.optimizer, llama_parameters(config.model));
  std::erase_if(blocks, [&](const Block& block) {
    const bool shampoo = config.optimizer.optimizer_of(block).settings.as<BlockShampooConfig>();
    return block.vector || block.lr_scale == 0 || !shampoo;
  });
  const BlockLayout layout(blocks, {});
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const bool right : {false, true}) {
      const int64_t n = right ? blocks[i].place.cols : blocks[i].place.rows;
      groups[{blocks[i].parameter, right}].push_back({layout.name_of({i, right}), n});
    }
  }
  std::vector<std::vector<Choice>> lists;
  for (auto& group : groups) lists.push_back(std::move(group.second));
  return lists;
}

int64_t count_by_size(const std::vector<std::vector<Choice>>& groups) {
  int64_t largest = 1;
  for (const auto& group : groups) {
    for (const Choice& choice : group) largest = std::max(largest, choice.n);
  }
  return std::max<int64_t>(4, 32 * 128 * 128 / (largest * largest));
}

std::vector<Choice> spread(const std::vector<std::vector<Choice>>& groups, int64_t wanted) {
  std::vector<int64_t> sizes;
  for (const auto& group : groups) sizes.push_back(std::ssize(group));
  const std::vector<int64_t> shares = equal_shares(sizes, wanted);
  std::vector<Choice> chosen;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (int64_t k = 0; k < shares[i]; ++k) {
      chosen.push_back(groups[i][static_cast<size_t>(k * sizes[i] / shares[i])]);
    }
  }
  return chosen;
}

void add(RecordedFactors& all, const Choice& choice, std::vector<float> matrix) {
  if (!std::ranges::all_of(matrix, [](float x) { return std::isfinite(x); })) {
    all.not_finite.push_back(choice.name);
  } else if (std::ranges::all_of(matrix, [](float x) { return x == 0; })) {
    all.zero.push_back(choice.name);
  } else {
    all.factors.push_back({choice.name, choice.n, std::move(matrix)});
  }
}

}  // namespace

std::vector<int64_t> equal_shares(const std::vector<int64_t>& sizes, int64_t wanted) {
  std::vector<int64_t> shares(sizes.size(), 0);
  while (wanted > 0) {
    std::vector<size_t> open;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (shares[i] < sizes[i]) open.push_back(i);
    }
    if (open.empty()) break;
    const auto given = std::min(static_cast<size_t>(wanted), open.size());
    for (size_t k = 0; k < given; ++k) ++shares[open[k * open.size() / given]];
    wanted -= static_cast<int64_t>(given);
  }
  return shares;
}

RecordedFactors read_recorded_factors(const std::string& path, int64_t count) {
  RecordedFactors all;
  all.folder = find_checkpoint(path);
  const RunConfig config = read_checkpoint_config(all.folder);
  const auto* shampoo = config.optimizer.as<BlockShampooConfig>();
  require(shampoo,
          "'{}' has optimizer.type \"{}\", which has no factors; name a run of dash or shampoo",
          all.folder, config.optimizer.type());
  all.step = read_checkpoint_state(all.folder).step;
  all.exponent = shampoo->exponent;
  const auto groups = factors_by_parameter(config);
  for (const auto& group : groups) all.available += std::ssize(group);
  const SafetensorsSet files(all.folder, "optimizer");
  for (const Choice& choice : spread(groups, count > 0 ? count : count_by_size(groups))) {
    add(all, choice, files.read_f32(choice.name, {choice.n, choice.n}));
  }
  require(!all.factors.empty(),
          "'{}': of the chosen factors {} are zero and {} are not finite, so that there is none to "
          "take a root of; name a later checkpoint, or raise --blocks",
          all.folder, all.zero.size(), all.not_finite.size());
  return all;
}

}  // namespace dashlm
