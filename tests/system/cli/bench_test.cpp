// That the figures of `dashlm bench` are called what they are. No test looks at a speed.
#include <gmock/gmock.h>

#include <sstream>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class BenchTest : public RunTest {
 protected:
  std::vector<std::string> lines_of(const char* what, const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"bench", what, path("config.json"), "--steps", "1"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    std::istringstream text(result.output);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(BenchTest, StepNamesWhatIsOfAllRanksAndWhatOfOne) {
  const auto lines = lines_of("step", {"--json"});
  ASSERT_EQ(lines.size(), 1u);
  const Json json = Json::parse(lines[0]);
  for (const char* key : {"tokens_per_s", "tokens_per_s_per_rank", "gflops_per_rank", "peak_gflops",
                          "ratio_to_peak"}) {
    EXPECT_TRUE(json.contains(key) && json[key].is_number()) << key;
  }
  EXPECT_EQ(json["peak_precision"], "fp32");
}

TEST_F(BenchTest, StepNamesThePrecisionOfItsPeak) {
  const Json json =
      Json::parse(lines_of("step", {"--json", "--set", "train.precision=bf16"}).at(0));
  EXPECT_EQ(json["peak_precision"], "bf16");
}

// The peak is an update with new roots, which the others of a cycle are without.
TEST_F(BenchTest, OptimizerTellsTheMeanOfACycleFromItsPeak) {
  Json config = default_config();
  config["optimizer"] = {{"type", "dash"},
                         {"block_size", 16},
                         {"frequency", 4},
                         {"start", -1},
                         {"inverse_root", {{"type", "evd"}}}};
  write_config(config);
  const auto lines = lines_of("optimizer", {"--json"});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(Json::parse(lines[0])["ranks"], 1);
  for (size_t i = 1; i < lines.size(); ++i) {
    const Json json = Json::parse(lines[i]);
    EXPECT_EQ(json["frequency"], 4);
    EXPECT_GT(json["peak_ms"], json["total_ms"]) << "one of four updates is the longest";
    EXPECT_GT(json["roots_ms"], 0);
  }
  EXPECT_THAT(lines_of("optimizer", {})[1], ::testing::HasSubstr("of 4 ms"));
}

TEST_F(BenchTest, OptimizerHasNoRateForWhatCannotBeCounted) {
  Json config = default_config();
  for (const char* root : {"evd", "newton_db"}) {
    config["optimizer"] = {
        {"type", "dash"}, {"block_size", 16}, {"inverse_root", {{"type", root}}}};
    write_config(config);
    const bool counted = root == std::string("newton_db");
    const auto lines = lines_of("optimizer", {"--json"});
    ASSERT_EQ(lines.size(), 4u) << "the machine, then one for each stacking";
    for (size_t i = 1; i < lines.size(); ++i) {
      const Json json = Json::parse(lines[i]);
      EXPECT_TRUE(json["total_ms"].is_number());
      EXPECT_EQ(json["gflops"].is_number(), counted) << lines[i];
      EXPECT_EQ(json["ratio_to_peak"].is_number(), counted) << lines[i];
      EXPECT_EQ(json["peak_gflops"].is_number(), counted) << lines[i];
    }
    std::string name, total;
    std::istringstream(lines_of("optimizer", {}).back()) >> name >> total;
    EXPECT_EQ(name, "rank");
    EXPECT_GT(std::stod(total), 0);
  }
}

}  // namespace
}  // namespace dashlm::testing
