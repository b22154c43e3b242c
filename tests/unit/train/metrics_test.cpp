// metrics.jsonl: what is written can be read, and a resumed run repeats no line.
#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "config/config.h"
#include "support/temp_folder.h"

namespace dashlm::testing {
namespace {

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

StepMetrics step_line(int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  return metrics;
}

class Metrics : public ::testing::Test {
 protected:
  const TempFolder folder_;
  const std::string path_ = folder_.path() + "/metrics.jsonl";
};

TEST_F(Metrics, EachLineHasItsKindAndItsKeys) {
  {
    MetricsLog log(path_, 0);
    StepMetrics step = step_line(1);
    step.loss = 3.5;
    step.mfu = 0.4;
    log.train(step);
    log.eval(1, 3.0, 64);
    log.blocks(1, {"8x8", {{"graft_ratio_mean", 2.0}}}, 3);
    log.final(1, 2.5, 64, 1.5);
  }
  const std::vector<Json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["kind"], "train");
  EXPECT_EQ(lines[0]["loss"], 3.5);
  EXPECT_EQ(lines[0]["mfu"], 0.4);
  EXPECT_EQ(lines[1]["kind"], "eval");
  EXPECT_NEAR(lines[1]["val_ppl"].get<double>(), std::exp(3.0), 1e-9);
  EXPECT_EQ(lines[2]["group"], "8x8");
  EXPECT_EQ(lines[2]["rank"], 3);
  EXPECT_EQ(lines[2]["graft_ratio_mean"], 2.0);
  EXPECT_EQ(lines[3]["wall_s"], 1.5);
  const auto result = read_final_result(path_);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->scored);
  EXPECT_EQ(result->val_loss, 2.5);
}

// A run that goes on from step 2 makes step 3 again, and whatever a kill left half-written.
TEST_F(Metrics, AResumedRunDropsTheStepsThatItMakesAgain) {
  {
    MetricsLog log(path_, 0);
    for (int64_t step = 1; step <= 3; ++step) {
      log.train(step_line(step));
      log.eval(step, 3.0, 1);
    }
  }
  std::ofstream(path_, std::ios::app) << "{\"kind\": \"tra";
  MetricsLog log(path_, 2);
  EXPECT_EQ(log.last_evaluated(), 2);
  const std::vector<Json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines.back()["step"], 2);
}

TEST_F(Metrics, ADivergedRunHasAFinalLineWithoutALoss) {
  MetricsLog(path_, 0).train(step_line(4));
  EXPECT_FALSE(read_final_result(path_));
  append_divergence(path_, 5, 320, 2.0);
  const std::vector<Json> lines = lines_of(path_);
  EXPECT_EQ(lines.back()["diverged"], true);
  EXPECT_EQ(lines.back()["step"], 5);
  EXPECT_TRUE(lines.back()["val_loss"].is_null());
}

TEST_F(Metrics, NothingHasEndedWhereThereIsNoFile) {
  EXPECT_FALSE(read_final_result(path_));
}

TEST(MetricsText, PerplexityIsExpOfTheLoss) {
  EXPECT_EQ(perplexity_text(std::log(23.51)), "23.51");
  EXPECT_NE(perplexity_text(200).find("e+86"), std::string::npos);
  EXPECT_NE(loss_text(3.21).find("3.2100"), std::string::npos);
}

}  // namespace
}  // namespace dashlm::testing
