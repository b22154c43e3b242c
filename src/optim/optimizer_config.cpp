#include "optim/optimizer_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "config/config.h"
#include "optim/grouped_optimizer.h"

namespace dashlm {
namespace {

constexpr double kMostLrScale = 1e6;  // far beyond use; finite in fp32 with any train.lr

// "pattern=factor", as lr_scale of older configs had it.
ParameterGroup group_of_rule(const std::string& rule, const OptimizerChoice& optimizer) {
  const size_t equals = rule.rfind('=');
  const std::string text = equals == std::string::npos ? "" : rule.substr(equals + 1);
  char* end = nullptr;
  errno = 0;
  const double factor = std::strtod(text.c_str(), &end);
  require(!text.empty() && *end == 0,
          "optimizer.lr_scale: \"{}\" is not of the form pattern=factor", rule);
  // 1e-400 would be read as 0, which freezes. NaN is at least nothing.
  require(errno == 0 && factor >= 0 && factor <= kMostLrScale,
          "optimizer.lr_scale: the factor of \"{}\" must be at least 0 and at most {}", rule,
          kMostLrScale);
  return {{rule.substr(0, equals)}, factor, optimizer};
}

bool matches(const std::string& pattern, const Parameter& parameter) {
  return fnmatch(pattern.c_str(), parameter.name.c_str(), 0) == 0;
}

// The group of each parameter, -1 for none.
std::vector<int> groups_of(const OptimizerConfig& config, const ParameterLayout& layout) {
  const std::vector<Parameter>& parameters = layout.parameters();
  std::vector<int> groups(parameters.size(), -1);
  for (size_t i = 0; i < config.groups.size(); ++i) {
    require(!config.groups[i].match.empty(),
            "optimizer.groups[{}] has no \"match\": name the parameters that it is for", i);
    for (const std::string& pattern : config.groups[i].match) {
      bool matched = false;
      for (size_t k = 0; k < parameters.size(); ++k) {
        if (!matches(pattern, parameters[k])) continue;
        groups[k] = static_cast<int>(i);
        matched = true;
      }
      require(matched,
              "optimizer.groups: no parameter is called \"{}\"; `dashlm plan --parameters` lists "
              "the names, such as {}",
              pattern, parameters.back().name);
    }
  }
  return groups;
}

// Equal texts: equal optimizers, which can be one.
std::string text_of(OptimizerChoice choice) {
  return write_config([&](Schema& s) { choice.describe(s, "type", ""); }).dump();
}

}  // namespace

void OptimizerChoice::describe(Schema& schema, const char* key, const char* help) {
  std::vector<std::string> names = optimizer_types();
  auto index = static_cast<size_t>(std::ranges::find(names, type) - names.begin());
  schema.choice(key, names, index, help);
  if (names[index] != type) *this = OptimizerChoice(names[index]);
  settings.describe(schema);
}

void ParameterGroup::describe(Schema& schema) {
  schema.field("match", match, "names of parameters, with * and ?");
  schema.field("lr_scale", lr_scale, "multiplies the learning rate; 0 freezes", {0, kMostLrScale});
  optimizer.describe(schema, "optimizer", "the optimizer of the group");
}

void OptimizerConfig::describe(Schema& schema) {
  main.describe(schema, "type", "the optimizer");
  std::vector<std::string> rules;
  schema.former("lr_scale", rules);
  schema.list("groups", groups, ParameterGroup{{}, 1, main},
              "parameters that are treated in another way, as {\"match\": names with * and ?, "
              "\"lr_scale\": factor of the learning rate (0 freezes), \"optimizer\": a type, any "
              "key of that type}; what a group does not name is as here; the last match counts; "
              "`dashlm plan --parameters` lists the names");
  for (size_t i = 0; i < rules.size(); ++i) {
    groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(i), group_of_rule(rules[i], main));
  }
}

std::vector<std::string> OptimizerConfig::warnings(int64_t steps) const {
  std::vector<std::string> all = main.settings.warnings(steps);
  for (const ParameterGroup& group : groups) {
    for (std::string& warning : group.optimizer.settings.warnings(steps)) {
      if (std::ranges::find(all, warning) == all.end()) all.push_back(std::move(warning));
    }
  }
  return all;
}

std::vector<double> lr_multipliers(const OptimizerConfig& config, const ParameterLayout& layout) {
  std::vector<double> multipliers;
  for (const int group : groups_of(config, layout)) {
    multipliers.push_back(group < 0 ? 1.0 : config.groups[static_cast<size_t>(group)].lr_scale);
  }
  return multipliers;
}

std::vector<Block> optimizer_blocks(const OptimizerConfig& config, const ParameterLayout& layout) {
  const std::vector<int> groups = groups_of(config, layout);
  const std::vector<double> lr_scale = lr_multipliers(config, layout);
  std::vector<Block> blocks;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Block like{.parameter = i, .group = groups[i], .lr_scale = lr_scale[i]};
    cut_parameter(blocks, layout.parameters()[i], like, config.optimizer_of(like).settings.cut());
  }
  // What a checkpoint can name: a safetensors header is at most 100 MB, a block takes up to 1 kB.
  constexpr int64_t kMostBlocks = 100000;
  require(std::ssize(blocks) <= kMostBlocks,
          "optimizer.block_size = {} cuts the parameters into {} blocks, but at most {} are "
          "possible; choose a larger one",
          config.main.settings.cut().block_size, blocks.size(), kMostBlocks);
  return blocks;
}

double block_cost(const OptimizerConfig& config, const Block& block) {
  if (block.lr_scale == 0) return static_cast<double>(block.place.elements());
  return config.optimizer_of(block).settings.cost(block);
}

// Groups whose optimizers have equal settings share one, so that lr_scale alone divides no stack.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, OptimizerParts parts) {
  struct Share {
    OptimizerChoice optimizer;
    std::string text;
    std::vector<std::string> names;  // patterns of its groups; none for the main optimizer
    std::vector<Block> blocks;
  };
  std::vector<Share> shares = {{config.main, text_of(config.main), {}, {}}};
  std::vector<size_t> share_of = {0};  // of group -1, 0, 1, …
  for (const ParameterGroup& group : config.groups) {
    const std::string text = text_of(group.optimizer);
    const auto found = std::ranges::find(shares, text, &Share::text);
    share_of.push_back(static_cast<size_t>(found - shares.begin()));
    if (found == shares.end()) shares.push_back({group.optimizer, text, {}, {}});
    if (share_of.back() > 0) {
      std::vector<std::string>& names = shares[share_of.back()].names;
      names.insert(names.end(), group.match.begin(), group.match.end());
    }
  }
  for (Block& block : parts.blocks) {
    if (block.lr_scale == 0) continue;
    shares[share_of[static_cast<size_t>(block.group + 1)]].blocks.push_back(std::move(block));
  }
  std::vector<GroupedOptimizer::Member> members;
  for (Share& share : shares) {
    if (share.blocks.empty() && shares.size() > 1) continue;
    members.push_back({fmt::format("{}", fmt::join(share.names, ", ")),
                       share.optimizer.settings.make({std::move(share.blocks), parts.weights,
                                                      parts.gradients, parts.arena, parts.seed})});
  }
  if (members.size() == 1) return std::move(members.front().optimizer);
  return std::make_unique<GroupedOptimizer>(std::move(members));
}

}  // namespace dashlm
