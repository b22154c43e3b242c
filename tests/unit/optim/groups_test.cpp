// Groups of parameters: each is updated as an optimizer of its own would do it.
#include <algorithm>
#include <set>

#include "optim/adamw/config.h"
#include "support/expect_error.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

// Parameters a to g, see awkward_parameters().
std::vector<std::vector<float>> trained(const OptimizerConfig& config) {
  StepLab lab(config);
  lab.run(4);
  std::vector<std::vector<float>> weights;
  for (size_t p = 0; p < lab.layout().parameters().size(); ++p) weights.push_back(lab.weights(p));
  return weights;
}

TEST(Groups, EachIsUpdatedByItsOwnOptimizer) {
  const auto mixed = trained(optimizer_config(R"({
      "type": "dash", "block_size": 4, "weight_decay": 0.1,
      "groups": [{"match": ["a", "[e-g]"], "optimizer": "adamw", "beta2": 0.9, "block_size": 4},
                 {"match": "d", "weight_decay": 0, "frequency": 2},
                 {"match": "f", "lr_scale": 0.5}]})"));
  const auto dash =
      trained(optimizer_config(R"({"type": "dash", "block_size": 4, "weight_decay": 0.1})"));
  const auto adamw = trained(optimizer_config(R"({"type": "adamw", "beta2": 0.9})"));
  const auto other = trained(
      optimizer_config(R"({"type": "dash", "block_size": 4, "weight_decay": 0, "frequency": 2})"));
  const auto slow = trained(optimizer_config(
      R"({"type": "dash", "block_size": 4, "weight_decay": 0.1, "lr_scale": ["*=0.5"]})"));
  const std::vector<const std::vector<std::vector<float>>*> owners = {&adamw, &dash, &dash, &other,
                                                                      &adamw, &slow, &adamw};
  for (size_t p = 0; p < owners.size(); ++p) EXPECT_EQ(mixed[p], (*owners[p])[p]) << p;
}

// What a group does not name is as in the section around it; another type begins with its defaults.
TEST(Groups, InheritTheKeysAroundThem) {
  const OptimizerConfig config = optimizer_config(R"({
      "groups": [{"match": "a", "beta1": 0.8}, {"match": "b", "optimizer": "dash"},
                 {"match": "c", "optimizer": "adamw", "eps": 1e-6}],
      "beta2": 0.9, "weight_decay": 0.2})");
  const auto settings = [&](size_t i) {
    return *config.groups[i].optimizer.settings.as<AdamwConfig>();
  };
  EXPECT_EQ(settings(0).beta1, 0.8);
  EXPECT_EQ(settings(0).beta2, 0.9);
  EXPECT_EQ(settings(2).weight_decay, 0.2);
  EXPECT_EQ(settings(2).eps, 1e-6);
  EXPECT_EQ(config.groups[1].optimizer.settings.as<BlockShampooConfig>()->weight_decay, 0);
}

// Different rates alone divide no stack: one optimizer, as many calls as without groups.
TEST(Groups, RatesAloneDivideNoStack) {
  StepLab plain(optimizer_config(R"({"type": "dash", "block_size": 4})"));
  StepLab scaled(optimizer_config(R"({"type": "dash", "block_size": 4,
                                      "groups": [{"match": "[ac]", "lr_scale": 0.5}]})"));
  const auto lines = [](StepLab& lab) {
    std::vector<std::pair<std::string, int64_t>> all;
    for (const StackPlan& line : lab.optimizer().plan()) all.push_back({line.group, line.calls});
    return all;
  };
  EXPECT_EQ(lines(plain), lines(scaled));
}

TEST(Groups, ThePlanNamesThem) {
  StepLab lab(optimizer_config(R"({"type": "dash", "block_size": 4, "statistics_every": 2,
      "groups": [{"match": "a", "frequency": 2, "statistics_every": 3},
                 {"match": ["f", "g"], "optimizer": "adamw"}]})"));
  std::set<std::string> ends;
  for (const StackPlan& line : lab.optimizer().plan()) {
    const size_t at = line.group.find(" (");
    ends.insert(at == std::string::npos ? "" : line.group.substr(at));
  }
  EXPECT_TRUE(ends.contains(" (a)"));
  EXPECT_TRUE(ends.contains(""));
  lab.run(2);
  EXPECT_TRUE(lab.optimizer().statistics_due(2));
  EXPECT_TRUE(lab.optimizer().statistics_due(3));
  EXPECT_FALSE(lab.optimizer().statistics_due(5));
  for (const BlockStatistics& line : lab.statistics()) {
    EXPECT_EQ(line.group.find("(a)"), std::string::npos) << line.group;
  }
}

TEST(Groups, BadOnesAreNamed) {
  const auto lab_of = [](const char* json) {
    return [json] { StepLab lab(optimizer_config(json)); };
  };
  expect_bad_input({"optimizer.groups", "\"z*\"", "g"},
                   lab_of(R"({"groups": [{"match": "a"}, {"match": ["b", "z*"]}]})"));
  expect_bad_input({"groups", "list of objects"}, lab_of(R"({"groups": {"match": "a"}})"));
  expect_bad_input({"groups[1]", "must be an object"},
                   lab_of(R"({"groups": [{"match": "a"}, "b"]})"));
  expect_bad_input({"groups[1].lr_scale", "at least 0"},
                   lab_of(R"({"groups": [{"match": "a"}, {"match": "b", "lr_scale": -1}]})"));
  expect_bad_input({"groups[0].momentum"},
                   lab_of(R"({"groups": [{"match": "a", "momentum": 0.5}]})"));
  expect_bad_input({"groups[0].beta", "beta"},
                   lab_of(R"({"groups": [{"match": "a", "beta": 0.5}]})"));
  expect_bad_input({"groups[0].optimizer", "adam", "adamw"},
                   lab_of(R"({"groups": [{"match": "a", "optimizer": "adam"}]})"));
  expect_bad_input({"groups[0]", "match"}, lab_of(R"({"groups": [{"lr_scale": 0.5}]})"));
}

TEST(Groups, AFrozenParameterHasNoState) {
  StepLab lab(optimizer_config(R"({"groups": [{"match": "b", "lr_scale": 0}]})"));
  for (const Tensor& tensor : lab.optimizer().state()) {
    EXPECT_EQ(tensor.name.text().find(" b["), std::string::npos) << tensor.name.text();
  }
}

}  // namespace
}  // namespace dashlm::testing
