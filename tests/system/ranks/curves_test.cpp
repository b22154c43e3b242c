// Any number of ranks trains the same model as one, with any optimizer.
#include <cmath>

#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace {

struct Method {
  std::string name;
  Json optimizer;
};

void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

// A ridge keeps inverse roots from blowing up the last digits of sums, which the number of ranks
// does change: with the published ridges of 1e-10 and 0 the null spaces of the first factors are
// filled by rounding.
constexpr double kRidge = 1e-6;

// Weight decay, 1-D tensors, momentum; blocks of ten, which divide none of the sizes.
std::vector<Method> methods() {
  std::vector<Method> all = {
      {"adamw", {{"type", "adamw"}, {"block_size", 10}, {"weight_decay", 0.1}}}};
  // An eigenvalue next to a cut-off jumps over it by rounding, so there is none.
  const Json evd = {{"type", "evd"}, {"ridge", kRidge}, {"rank_rtol", 0}};
  const Json newton_db = {{"type", "newton_db"}, {"ridge", kRidge}};
  for (const auto& [type, inverse_root] :
       {std::pair{"shampoo", evd}, std::pair{"dash", newton_db}}) {
    for (const char* stacking : {"block", "layer", "rank"}) {
      all.push_back({std::string(type) + "_" + stacking,
                     {{"type", type},
                      {"stacking", stacking},
                      {"block_size", 10},
                      {"frequency", 3},
                      {"stagger", true},
                      {"momentum", 0.5},
                      {"vectors", "shampoo"},
                      {"decay_vectors", true},
                      {"weight_decay", 0.1},
                      {"inverse_root", inverse_root}}});
    }
  }
  return all;
}

class RankCurves : public RanksTest, public ::testing::WithParamInterface<Method> {
 protected:
  void write(int64_t steps) {
    Json config = Json::parse(read_file("config.json"));
    config["train"]["steps"] = steps;
    config["eval"]["every"] = 20;
    config["checkpoint"]["every"] = 25;
    config["optimizer"] = GetParam().optimizer;
    write_config(config);
  }
};

TEST_P(RankCurves, AreThoseOfOneRank) {
  write(50);
  const ProcessResult alone = train({"--out", path("1")});
  ASSERT_EQ(alone.exit_code, 0) << alone.errors;
  for (const int ranks : {2, 3, 4}) {
    const std::string out = path(std::to_string(ranks));
    const ProcessResult result = train_ranks(ranks, out);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    SCOPED_TRACE(ranks);
    expect_same_curve(out, path("1"));
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, RankCurves, ::testing::ValuesIn(methods()),
                         [](const auto& method) { return method.param.name; });

using RankSharing = RanksTest;

// More ranks than blocks, and than sequences: some own nothing and compute nothing.
TEST_F(RankSharing, RanksMayHaveNothingToDo) {
  Json config = Json::parse(read_file("config.json"));
  config["model"]["n_layer"] = 1;
  config["optimizer"] = {{"type", "dash"},
                         {"block_size", 128},
                         {"vectors", "shampoo"},
                         {"inverse_root", {{"ridge", kRidge}}}};
  write_config(config);
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  const ProcessResult result = train_ranks(12, out());  // 10 blocks, 8 sequences
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("4 of the 12 ranks have none"), std::string::npos) << result.errors;
  expect_same_curve(out(), path("1"));
}

TEST_F(RankSharing, TiedEmbeddingsFrozenParametersAndRecomputation) {
  Json config = Json::parse(read_file("config.json"));
  config["model"]["tie_embeddings"] = true;
  config["train"]["recompute"] = true;
  config["optimizer"] = {{"type", "dash"},
                         {"block_size", 10},
                         {"lr_scale", {"layer0.*=0", "*norm=0.5", "embed=0"}},
                         {"inverse_root", {{"ridge", kRidge}}}};
  write_config(config);
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  const ProcessResult result = train_ranks(3, out());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  expect_same_curve(out(), path("1"));
}

// Ranks own blocks of several optimizers, or of one of them only.
TEST_F(RankSharing, GroupsOfDifferentOptimizers) {
  Json config = Json::parse(read_file("config.json"));
  config["optimizer"] = {
      {"type", "dash"}, {"block_size", 10}, {"inverse_root", {{"ridge", kRidge}}}};
  config["optimizer"]["groups"] = Json::parse(R"([
      {"match": ["embed", "lm_head"], "optimizer": "ademamix", "beta3": 0.99, "block_size": 10},
      {"match": "*norm", "optimizer": "adamw"}])");
  write_config(config);
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  for (const int ranks : {2, 5}) {
    const ProcessResult result = train_ranks(ranks, path(std::to_string(ranks)));
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    expect_same_curve(path(std::to_string(ranks)), path("1"));
  }
}

// The same number of ranks gives the same bits; so nothing depends on who is faster.
TEST_F(RankSharing, RunsRepeatBitForBit) {
  ASSERT_EQ(train_ranks(3, path("a")).exit_code, 0);
  ASSERT_EQ(train_ranks(3, path("b")).exit_code, 0);
  EXPECT_EQ(losses(path("a")), losses(path("b")));
}

// One reduce-scatter of gradients and one all-gather of weights, and a few numbers.
TEST_F(RankSharing, AStepSendsGradientsAndWeightsOnce) {
  const auto elements =
      Json::parse(dashlm({"plan", path("config.json"), "--json"}).output)["parameters"]
          .get<double>();
  for (const int ranks : {2, 4}) {
    const std::string out = path(std::to_string(ranks));
    ASSERT_EQ(train_ranks(ranks, out, {"--set", "train.compare_ranks_every=0"}).exit_code, 0);
    // About 4 · elements · 2 · (ranks - 1) / ranks, for rank 0's part of the blocks; and the three
    // sums of a step.
    const Json plan = Json::parse(
        dashlm({"plan", path("config.json"), "--ranks", std::to_string(ranks), "--json"}).output);
    const double planned = plan["ranks"]["ranks"][0]["bytes_sent_per_step"];
    EXPECT_NEAR(planned, 8 * elements * (ranks - 1) / ranks, 0.1 * planned);
    for (const Json& line : metrics(out, "train")) {
      EXPECT_EQ(line["bytes_sent"].get<double>(), planned + 24 * (ranks - 1));
      EXPECT_GT(line["communication_ms"].get<double>(), 0);
    }
  }
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  EXPECT_EQ(metrics(path("1"), "train")[0]["bytes_sent"], 0);
}

TEST_F(RankSharing, StatisticsSayWhoseBlocksTheyAreOf) {
  Json config = Json::parse(read_file("config.json"));
  config["optimizer"] = {{"type", "dash"}, {"block_size", 10}, {"statistics_every", 8}};
  write_config(config);
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  ASSERT_EQ(train_ranks(2, out()).exit_code, 0);
  // Counts of blocks add up to those of one rank, group by group.
  std::map<std::string, double> alone, shared;
  for (const Json& line : metrics(path("1"), "blocks")) {
    EXPECT_FALSE(line.contains("rank"));
    alone[line["group"].get<std::string>()] += line["count"].get<double>();
  }
  for (const Json& line : metrics(out(), "blocks")) {
    EXPECT_TRUE(line.contains("rank"));
    shared[line["group"].get<std::string>()] += line["count"].get<double>();
  }
  EXPECT_FALSE(alone.empty());
  EXPECT_EQ(shared, alone);
}

}  // namespace
}  // namespace dashlm::testing
