// Whole training runs on the CUDA backend, under the layer that runs it on the CPU
// (tests/host_cuda): they follow the CPU backend's, resume bit for bit, and work on several ranks.
#include <cmath>

#include "rank_runs/ranks_fixture.h"

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

TEST_F(CudaRuns, FollowTheCpuAndResumeBitForBit) {
  for (const char* type : {"adamw", "dash"}) {
    const std::string set = R"(optimizer={"type":")" + std::string(type) + R"(","block_size":10})";
    const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
      std::vector<std::string> extra = {"--out", path(name + type)};
      if (std::string(type) == "adamw") extra.insert(extra.end(), {"--set", set});
      extra.insert(extra.end(), more.begin(), more.end());
      const ProcessResult result = train(extra);
      EXPECT_EQ(result.exit_code, 0) << result.errors;
    };
    const auto folder = [&](const std::string& name) { return path(name + type); };
    run("cpu", {"--set", "device=cpu"});
    run("cuda", {});
    expect_losses_close(folder("cuda"), folder("cpu"));
    fs::copy(folder("cuda"), folder("resumed"), fs::copy_options::recursive);
    fs::remove_all(folder("resumed") + "/checkpoints/step_00000006");
    run("resumed", {"--resume"});
    EXPECT_EQ(losses(folder("resumed")), losses(folder("cuda")));
  }
}

TEST_F(CudaRuns, TwoRanksFollowOne) {
  ASSERT_EQ(train({"--out", path("1")}).exit_code, 0);
  const ProcessResult result = train_ranks(2, path("2"));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  expect_losses_close(path("2"), path("1"));
}

}  // namespace
}  // namespace dashlm::testing
