// What `dashlm plan` says about many ranks.
#include <cmath>
#include <map>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class PlanTest : public RunTest {
 protected:
  Json plan(const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"plan", path("config.json"), "--json"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return Json::parse(result.output);
  }
};

// The names that patterns of optimizer.groups match.
TEST_F(PlanTest, NamesEveryParameter) {
  const Json list = plan({"--parameters", "--set", "optimizer.lr_scale=[\"layer0.*=0.5\"]"});
  EXPECT_FALSE(plan({}).contains("parameter_list"));
  std::map<std::string, double> scales;
  int64_t elements = 0;
  for (const Json& parameter : list["parameter_list"]) {
    scales[parameter["name"]] = parameter["lr_scale"];
    elements += parameter["elements"].get<int64_t>();
  }
  EXPECT_EQ(elements, list["parameters"].get<int64_t>());
  EXPECT_EQ(scales.at("embed"), 1);
  EXPECT_EQ(scales.at("layer0.qkv"), 0.5);
  EXPECT_NE(dashlm({"plan", path("config.json"), "--parameters"}).output.find("layer0.attn_norm"),
            std::string::npos);
}

TEST_F(PlanTest, RanksShareOutAllParametersAndTheirState) {
  Json config = default_config();
  config["optimizer"] = {{"type", "dash"}, {"block_size", 10}};
  write_config(config);
  const Json whole = plan({});
  for (const int ranks : {2, 5, 80}) {
    const Json shared = plan({"--ranks", std::to_string(ranks)})["ranks"];
    ASSERT_EQ(std::ssize(shared["ranks"]), ranks);
    int64_t parameters = 0, blocks = 0;
    double cost = 0, most = 0, sent = 0;
    for (const Json& rank : shared["ranks"]) {
      parameters += rank["parameters"].get<int64_t>();
      blocks += rank["blocks"].get<int64_t>();
      cost += rank["relative_cost"].get<double>();
      most = std::max(most, rank["relative_cost"].get<double>());
      sent += rank["bytes_sent_per_step"].get<double>();
    }
    EXPECT_EQ(parameters, whole["parameters"]);
    int64_t known = 0;
    for (const Json& line : whole["stacks"]) {
      if (line["group"].get<std::string>().starts_with("blocks")) {
        known += line["count"].get<int64_t>();
      }
    }
    EXPECT_EQ(blocks, known);
    EXPECT_NEAR(cost, ranks, 1e-9);
    EXPECT_NEAR(shared["cost_max_over_mean"].get<double>(), most, 1e-9);
    // Every gradient is sent by all ranks but its owner, every weight by its owner to the others.
    EXPECT_EQ(sent, 2.0 * 4 * (ranks - 1) * static_cast<double>(parameters));
  }
}

// Steps before optimizer.start use no roots and cost less; what is printed is a later one.
TEST_F(PlanTest, FlopsDoNotDependOnTheStart) {
  const auto flops = [&](int64_t start, int64_t frequency) {
    Json config = default_config();
    config["optimizer"] = {
        {"type", "dash"}, {"block_size", 10}, {"start", start}, {"frequency", frequency}};
    write_config(config);
    return plan({})["flops_per_step"].get<double>();
  };
  EXPECT_EQ(flops(10, 1), flops(1, 1));
  EXPECT_EQ(flops(-1, 4), flops(1, 4));
  EXPECT_LT(flops(1, 4), flops(1, 1));
}

// The formula of docs/distributed.md, worked out by hand for the first line.
TEST_F(PlanTest, EstimatesFollowTheDocumentedFormula) {
  const ProcessResult result =
      dashlm({"plan", std::string(DASHLM_SOURCE_DIR) + "/configs/llama-953m-dash.json", "--gpu",
              "H100", "--ranks", "8", "--set", "optimizer.inverse_root.matmul=tf32", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Json json = Json::parse(result.output);
  const Json& lines = json["estimate"]["lines"];
  ASSERT_EQ(lines.size(), 8u);
  const auto number = [&](size_t line, const char* key) { return lines[line][key].get<double>(); };
  const double elements = 953'223'168, buckets = json["ranks"]["buckets"].get<double>();
  const double latency = buckets * 3 * 10e-6;
  EXPECT_NEAR(number(0, "reduce_ms"), 1e3 * (4 * elements * 7 / 8 / (0.8 * 450e9) + latency), 1e-6);
  EXPECT_NEAR(number(0, "gather_ms"), 1e3 * (2 * elements * 7 / 8 / (0.8 * 450e9) + latency), 1e-6);
  EXPECT_NEAR(number(0, "exposed_reduce_ms"), number(0, "reduce_ms") / buckets, 1e-6);
  EXPECT_NEAR(number(0, "step_ms"),
              number(0, "model_ms") + number(0, "update_ms") + number(0, "exposed_reduce_ms") +
                  number(0, "exposed_gather_ms"),
              1e-6);
  // 5.5 GFLOP a token in the model, an eighth of 2.1M tokens each.
  EXPECT_NEAR(number(0, "model_ms"), 1e3 * 5.53e9 * 2097152 / 8 / (0.55 * 989e12), 0.02 * 2680);
  // Published: 177 ms.
  EXPECT_NEAR(number(0, "update_ms"), 177, 20);
  EXPECT_NEAR(number(1, "model_ms"), number(0, "model_ms") / 2, 1);
  // Published: 2850 ms for decompositions.
  const Json decomposed =
      Json::parse(dashlm({"plan", std::string(DASHLM_SOURCE_DIR) + "/configs/llama-953m-dash.json",
                          "--gpu", "H100", "--set", "optimizer.inverse_root.type=evd", "--json"})
                      .output)["estimate"]["lines"];
  EXPECT_NEAR(decomposed[0]["update_ms"].get<double>(), 2850, 100);
  // The busiest of eight ranks has two of twelve sequences, and of 1,024 one.
  const Json uneven = Json::parse(
      dashlm({"plan", std::string(DASHLM_SOURCE_DIR) + "/configs/llama-953m-dash.json", "--gpu",
              "H100", "--set", "train.batch=12", "--set", "train.micro_batch=1", "--json"})
          .output)["estimate"]["lines"];
  EXPECT_NEAR(uneven[0]["model_ms"].get<double>(), number(0, "model_ms") / 128, 0.1);
  EXPECT_NEAR(uneven[7]["model_ms"].get<double>(), number(0, "model_ms") / 256, 0.1);
}

TEST_F(PlanTest, SaysWhichRanksATableIsAbout) {
  const std::string shared = dashlm({"plan", path("config.json"), "--ranks", "3"}).output;
  const size_t alone = shared.find("if one rank did everything:");
  ASSERT_NE(alone, std::string::npos) << shared;
  EXPECT_LT(alone, shared.find("parameters"));
  EXPECT_NE(shared.find("shared out to 3 ranks:"), std::string::npos) << shared;
  EXPECT_NE(shared.find("largest over mean: cost "), std::string::npos) << shared;
  EXPECT_EQ(dashlm({"plan", path("config.json")}).output.find("if one rank"), std::string::npos);
}

TEST_F(PlanTest, SaysWhatTheEstimateLeavesOut) {
  const auto left_out = [&](const Json& optimizer) {
    Json config = default_config();
    config["optimizer"] = optimizer;
    write_config(config);
    return plan({"--gpu", "h100"})["estimate"].value("leaves_out", "");
  };
  const auto expect_words = [](const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  const Json newton = {{"type", "coupled_newton"}, {"matmul", "tf32"}, {"root_matmul", "tf32"}};
  EXPECT_EQ(left_out({{"type", "adamw"}}), "");
  EXPECT_EQ(left_out({{"type", "dash"}}), "");
  EXPECT_EQ(left_out({{"type", "dash"}, {"matmul", "tf32"}, {"inverse_root", newton}}), "");
  expect_words(left_out({{"type", "dash"}, {"matmul", "bf16"}}), {"optimizer.matmul = bf16"});
  expect_words(left_out({{"type", "dash"}, {"stacking", "layer"}}), {"optimizer.stacking = layer"});
  Json mixed = newton;
  mixed["root_matmul"] = "fp32";
  expect_words(left_out({{"type", "dash"}, {"matmul", "tf32"}, {"inverse_root", mixed}}),
               {"root_matmul = fp32", "count as tf32"});
}

TEST_F(PlanTest, RefusesWhatMakesNoSense) {
  const auto expect_refused = [&](const std::vector<std::string>& extra, const char* word) {
    std::vector<std::string> arguments = {"plan", path("config.json")};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE((result.errors + result.output).find(word), std::string::npos) << result.errors;
  };
  expect_refused({"--gpu", "H1000"}, "A100, H100, H200, B200");
  expect_refused({"--ranks", "0"}, "--ranks");
  expect_refused({"--network", "-1"}, "--network");
}

}  // namespace
}  // namespace dashlm::testing
