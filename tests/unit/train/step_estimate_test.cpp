// The estimate of a step's time, against its formulas written out.
#include "train/step_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/optimizer_settings.h"
#include "train/peak_share.h"

namespace dashlm::testing {
namespace {

constexpr GpuModel kGpu{.name = "round numbers",
                        .bf16 = 1e15,
                        .tf32 = 5e14,
                        .fp32 = 5e13,
                        .memory = 8e10,
                        .bandwidth = 3e12,
                        .nvlink = 4e11,
                        .network = 5e10};

RunConfig config_of(const std::string& optimizer) {
  RunConfig config;
  config.train.batch = 64;
  config.train.micro_batch = 8;
  config.train.precision = ModelPrecision::bf16;
  config.optimizer = optimizer_config(optimizer);
  return config;
}

StepPlan plan_of(int ranks) {
  StepPlan plan;
  plan.place = {0, ranks};
  plan.micro_batch = 4;
  plan.update_flops = 3e13;
  plan.sequence_flops = 1e13;
  plan.parameters = 1000000000;
  plan.own_parameters = plan.parameters / ranks;
  plan.memory.optimizer = 3000000000;
  plan.buckets = 10;
  return plan;
}

TEST(StepEstimate, OneRankComputesOnly) {
  const RunConfig config = config_of(R"({"type": "dash", "inverse_root":
                                         {"type": "coupled_newton", "matmul": "tf32"}})");
  const StepEstimate step = estimate_step(config, plan_of(1), kGpu);
  EXPECT_NEAR(step.model, 64 * 1e13 / (0.55 * 1e15), 1e-9);
  const double bytes = 2.0 * 3e9 + 12.0 * 1e9;
  EXPECT_NEAR(step.update, 3e13 / (0.3 * 5e14) + bytes / (0.8 * 3e12), 1e-9);
  EXPECT_EQ(step.reduce + step.gather, 0);
  EXPECT_NEAR(step.total(), step.model + step.update, 1e-12);
}

TEST(StepEstimate, DecompositionsAreSlow) {
  const RunConfig config = config_of(R"({"type": "shampoo"})");
  const double products = 2.0 * 3e9 + 12.0 * 1e9;
  EXPECT_NEAR(estimate_step(config, plan_of(1), kGpu).update,
              3e13 / (0.013 * 5e13) + products / (0.8 * 3e12), 1e-9);
}

TEST(StepEstimate, TravelHidesBehindThePasses) {
  const RunConfig config = config_of(R"({"type": "adamw"})");
  const StepEstimate step = estimate_step(config, plan_of(16), kGpu);
  const double sent = 1e9 * 15 / 16, latency = 10 * std::log2(16) * 10e-6;
  EXPECT_NEAR(step.reduce, 4 * sent / (0.8 * 5e10) + latency, 1e-9);
  EXPECT_NEAR(step.gather, 2 * sent / (0.8 * 5e10) + latency, 1e-9);
  EXPECT_NEAR(step.exposed_reduce, std::max(step.reduce / 10, step.reduce - step.model * 2 / 3),
              1e-9);
  EXPECT_NEAR(step.exposed_gather, std::max(step.gather / 10, step.gather - step.model / 3), 1e-9);
  // Within a node, and over a faster network.
  EXPECT_LT(estimate_step(config, plan_of(8), kGpu).reduce, step.reduce / 4);
  EXPECT_LT(estimate_step(config, plan_of(16), kGpu, 1e11).reduce, step.reduce / 1.9);
}

TEST(StepEstimate, NamesWhatItLeavesOut) {
  EXPECT_EQ(left_out_of_estimate(config_of(R"({"type": "adamw"})")), "");
  EXPECT_EQ(left_out_of_estimate(config_of(R"({"type": "dash"})")), "");
  const std::string text =
      left_out_of_estimate(config_of(R"({"type": "dash", "matmul": "bf16", "stacking": "block"})"));
  EXPECT_NE(text.find("optimizer.matmul = bf16"), std::string::npos);
  EXPECT_NE(text.find("optimizer.stacking = block"), std::string::npos);
}

TEST(PeakShare, ComparesEachRateWithThePeaksAroundIt) {
  const std::vector<double> rates = {10, 30}, peaks = {20, 40, 60};
  const std::vector<double> shares = shares_of_peak(rates, peaks);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_DOUBLE_EQ(shares[0], 10.0 / 30);
  EXPECT_DOUBLE_EQ(shares[1], 30.0 / 50);
  EXPECT_THROW(shares_of_peak(rates, rates), Error);
}

}  // namespace
}  // namespace dashlm::testing
