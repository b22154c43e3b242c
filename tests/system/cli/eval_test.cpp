// What `dashlm eval` says beyond the loss: rounded weights and outliers.
#include <cmath>
#include <map>

#include "system/cli/expect_words.h"
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

const char* const kWeights = "run/checkpoints/step_00000024/model.safetensors";

class EvalTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    const ProcessResult result = train();
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }

  ProcessResult eval(const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"eval", out()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return dashlm(arguments);
  }
  Json eval_json(std::vector<std::string> extra) const {
    extra.push_back("--json");
    const ProcessResult result = eval(extra);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return Json::parse(result.output);
  }
};

// Two layers of width 24 and 40 on 299 tokens.
TEST_F(EvalTest, OutliersAreOfEverySiteOfEveryLayer) {
  const Json json = eval_json({"--outliers"});
  EXPECT_EQ(json["val_loss"], metrics(out(), "final")[0]["val_loss"]);
  EXPECT_FALSE(json.contains("quantized"));
  const Json& outliers = json["outliers"];
  EXPECT_EQ(outliers["tokens"], 299);
  std::map<std::string, std::vector<Json>> sites;
  for (const Json& site : outliers["activations"]) sites[site["site"]].push_back(site);
  ASSERT_EQ(sites.size(), 5u);
  for (const auto& [name, layers] : sites) {
    SCOPED_TRACE(name);
    ASSERT_EQ(layers.size(), name == "residual" ? 3u : 2u);
    for (const char* key : {"kurtosis", "max_over_rms", "beyond_6_sigma"}) {
      double max = 0, sum = 0;
      for (size_t i = 0; i < layers.size(); ++i) {
        EXPECT_EQ(layers[i]["layer"], i);
        EXPECT_EQ(layers[i]["values"], 299 * (name == "down" ? 40 : 24));
        max = std::max(max, layers[i][key].get<double>());
        sum += layers[i][key].get<double>();
      }
      const Json& summary = outliers["summary"][name][key];
      EXPECT_EQ(summary["max"].get<double>(), max);
      EXPECT_DOUBLE_EQ(summary["mean"].get<double>(), sum / static_cast<double>(layers.size()));
    }
    EXPECT_GT(layers[0]["kurtosis"].get<double>(), 1);
    EXPECT_GT(layers[0]["max_over_rms"].get<double>(), 1);
  }
}

TEST_F(EvalTest, OutliersAreOfTheFirst64SequencesWhateverTheThreads) {
  write_tokens("long.bin", 2000, 9);
  const std::vector<std::string> some = {"--outliers", "--json", "--data", path("long.bin")};
  const auto with = [&](std::vector<std::string> extra) {
    extra.insert(extra.end(), some.begin(), some.end());
    return eval(extra).output;
  };
  const Json json = Json::parse(with({}));
  EXPECT_EQ(json["targets"], 1999);
  EXPECT_EQ(json["outliers"]["tokens"], 64 * 16);
  EXPECT_EQ(with({"--threads", "1"}), with({"--threads", "3"}));
}

TEST_F(EvalTest, RoundedWeightsAreComparedWithTheRuns) {
  const std::string weights = read_file(kWeights);
  const auto quantized = [&](const std::vector<std::string>& extra) {
    const Json json = eval_json(extra);
    EXPECT_EQ(json["val_loss"], metrics(out(), "final")[0]["val_loss"]);
    const Json& q = json["quantized"];
    EXPECT_EQ(q["weights"], 2 * (48 * 24 + 24 * 24 + 3 * 24 * 40));
    EXPECT_EQ(q["val_loss_difference"].get<double>(),
              q["val_loss"].get<double>() - json["val_loss"].get<double>());
    EXPECT_DOUBLE_EQ(q["val_ppl"].get<double>(), std::exp(q["val_loss"].get<double>()));
    EXPECT_EQ(q["val_ppl_difference"].get<double>(),
              q["val_ppl"].get<double>() - json["val_ppl"].get<double>());
    return q;
  };
  const auto number = [](const Json& json, const char* key) {
    return std::abs(json[key].get<double>());
  };
  const Json int8 = quantized({"--quantize", "int8"}), int4 = quantized({"--quantize", "int4"});
  EXPECT_EQ(int8["format"], "int8");
  EXPECT_EQ(int8["group"], "channel");
  EXPECT_EQ(int4["format"], "int4");
  EXPECT_EQ(int4["group"], 128);
  EXPECT_GT(number(int8, "val_loss_difference"), 0);
  EXPECT_LT(number(int8, "relative_error") * 5, number(int4, "relative_error"));
  const Json rows = quantized({"--quantize", "int4", "--group", "channel"});
  EXPECT_EQ(rows["group"], "channel");
  const Json eights = quantized({"--quantize", "int4", "--group", "8"});
  EXPECT_EQ(eights["group"], 8);
  EXPECT_LT(number(eights, "relative_error"), number(rows, "relative_error"));
  // A scale for every weight: nothing is lost but the last bit.
  const Json alone = quantized({"--quantize", "int4", "--group", "1"});
  EXPECT_LT(number(alone, "relative_error"), 1e-7);
  EXPECT_LT(number(alone, "val_loss_difference"), 1e-6);
  EXPECT_EQ(read_file(kWeights), weights);
}

TEST_F(EvalTest, BothAtOnceSayWhatEachSaysAlone) {
  const Json both = eval_json({"--outliers", "--quantize", "int4"});
  EXPECT_EQ(both["outliers"], eval_json({"--outliers"})["outliers"]);
  EXPECT_EQ(both["quantized"], eval_json({"--quantize", "int4"})["quantized"]);

  const std::string text = eval({"--outliers", "--quantize", "int4"}).output;
  for (const char* words : {"perplexity", "int4", "groups of 128", "299 tokens", "kurtosis",
                            "max/rms", "residual", "qkv", "attn_out", "gate_up", "down", "mean"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << " is missing in\n" << text;
  }
}

TEST_F(EvalTest, OptionsThatMakeNoSenseAreNamed) {
  expect_words(eval({"--quantize", "int3"}), 1, {"--quantize", "int3", "int8", "int4"});
  expect_words(eval({"--group", "128"}), 1, {"--group", "--quantize"});
  for (const char* group : {"0", "-4", "128x", "row", ""}) {
    expect_words(eval({"--quantize", "int8", "--group", group}), 1,
                 {"--group", "'channel'", "whole number of at least 1"});
  }
}

}  // namespace
}  // namespace dashlm::testing
