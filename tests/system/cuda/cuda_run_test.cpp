// Whole training runs on the CUDA backend, under the layer that runs it on the CPU
// (tests/host_cuda): they follow the CPU backend's, resume bit for bit, and work on several ranks.
#include <cmath>

#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class CudaRuns : public RanksTest {
 protected:
  // Small: every thread of every kernel is a fiber.
  void SetUp() override {
    RanksTest::SetUp();
    Json config = Json::parse(read_file("config.json"));
    config["model"] = {{"n_layer", 2}, {"d_model", 12},    {"n_head", 2}, {"n_kv_head", 1},
                       {"d_ff", 20},   {"vocab_size", 61}, {"seq_len", 8}};
    config["train"]["steps"] = 6;
    config["train"]["batch"] = 3;
    config["train"]["micro_batch"] = 2;
    config["eval"] = {{"every", 3}, {"batches", 1}, {"final", false}};
    config["checkpoint"]["every"] = 2;
    config["optimizer"] = {{"type", "dash"},
                           {"block_size", 10},
                           {"frequency", 2},
                           {"momentum", 0.5},
                           {"vectors", "shampoo"},
                           {"weight_decay", 0.1},
                           {"inverse_root", {{"ridge", 1e-6}}}};
    write_config(config);
  }
};

class CudaRunsOf : public CudaRuns, public ::testing::WithParamInterface<const char*> {};

TEST_P(CudaRunsOf, FollowTheCpuAndResumeBitForBit) {
  Json config = Json::parse(read_file("config.json"));
  const std::string variant = GetParam();
  if (variant == "adamw") config["optimizer"] = {{"type", "adamw"}, {"block_size", 10}};
  if (variant.starts_with("bf16")) config["train"]["precision"] = "bf16";
  if (variant == "bf16_residual") config["train"]["residual"] = "bf16";
  write_config(config);
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> extra = {"--out", path(name)};
    extra.insert(extra.end(), more.begin(), more.end());
    const ProcessResult result = train(extra);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
  };
  run("cpu", {"--set", "device=cpu"});
  run("cuda", {});
  expect_losses_close(path("cuda"), path("cpu"), variant.starts_with("bf16") ? 2e-4 : 1e-5);
  fs::copy(path("cuda"), path("resumed"), fs::copy_options::recursive);
  fs::remove_all(path("resumed") + "/checkpoints/step_00000006");
  run("resumed", {"--resume"});
  EXPECT_EQ(losses(path("resumed")), losses(path("cuda")));
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaRunsOf,
                         ::testing::Values("adamw", "dash", "bf16", "bf16_residual"),
                         [](const auto& test) { return std::string(test.param); });

// Model FLOPs over the data sheet's dense peak, whatever is computed twice; of an unknown card
// nothing is said.
TEST_F(CudaRuns, UtilisationIsOfKnownCardsOnly) {
  ASSERT_EQ(train({"--out", path("unknown")}).exit_code, 0);
  EXPECT_FALSE(metrics(path("unknown"), "train")[0].contains("mfu"));
  // Three products of 2 FLOPs for each weight of a matrix and token; attention has six of them, of
  // a query with half of the keys on average.
  const double layer = (4 * 6) * 12 + 12 * 12 + 3 * 12 * 20, weights = 2 * layer + 61 * 12;
  const double attention = 2 * 6 * 12 * 8 * (8 + 1);
  const double step = 3 * (6 * weights * 8 + attention);
  setenv("DASHLM_HOST_CUDA_CARD", "NVIDIA H100 80GB HBM3", 1);
  for (const auto& [precision, peak] : {std::pair{"fp32", 67e12}, std::pair{"bf16", 989e12}}) {
    ASSERT_EQ(train({"--out", path(precision), "--set", "train.recompute=true", "--set",
                     std::string("train.precision=") + precision})
                  .exit_code,
              0);
    for (const Json& line : metrics(path(precision), "train")) {
      const double seconds = line["step_ms"].get<double>() / 1e3;
      EXPECT_NEAR(line["mfu"].get<double>() * seconds * peak, step, 1e-9 * step);
    }
  }
  unsetenv("DASHLM_HOST_CUDA_CARD");
}

TEST_F(CudaRuns, TwoRanksFollowOne) {
  for (const auto& [precision, tolerance] : {std::pair{"fp32", 1e-5}, std::pair{"bf16", 2e-4}}) {
    const std::string set = std::string("train.precision=") + precision;
    const std::string one = path(std::string("1") + precision),
                      two = path(std::string("2") + precision);
    ASSERT_EQ(train({"--out", one, "--set", set}).exit_code, 0);
    const ProcessResult result = train_ranks(2, two, {"--set", set});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    expect_losses_close(two, one, tolerance);
  }
}

}  // namespace
}  // namespace dashlm::testing
