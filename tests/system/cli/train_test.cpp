// A run from start to end: files, numbers, independence of threads and micro-batches.
#include <unistd.h>

#include <cmath>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

using TrainTest = RunTest;

TEST_F(TrainTest, WritesWhatItPromisesAndLearns) {
  const ProcessResult result = train();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(fs::exists(out() + "/log.txt"));
  EXPECT_EQ(Json::parse(read_file("run/config.json"))["train"]["warmup_steps"], 2);
  EXPECT_EQ(checkpoints(out()),
            (std::vector<std::string>{"step_00000015", "step_00000020", "step_00000024"}));

  const auto steps = metrics(out(), "train");
  ASSERT_EQ(steps.size(), 24u);
  EXPECT_EQ(steps.back()["tokens"], 24 * 8 * 16);
  EXPECT_NEAR(steps.front()["loss"].get<double>(), std::log(61.0), 0.05);
  EXPECT_LT(steps.back()["loss"].get<double>(), 0.8 * steps.front()["loss"].get<double>());
  for (const char* key : {"lr", "grad_norm", "step_ms", "forward_backward_ms", "optimizer_ms",
                          "communication_ms", "tokens_per_s"}) {
    EXPECT_TRUE(steps[0][key].is_number()) << key;
  }
  const auto evaluations = metrics(out(), "eval");
  ASSERT_EQ(evaluations.size(), 3u);  // steps 6, 12, 18; the last step has the final one
  EXPECT_EQ(evaluations[0]["step"], 6);
  const auto final = metrics(out(), "final");
  ASSERT_EQ(final.size(), 1u);
  EXPECT_NEAR(final[0]["val_ppl"].get<double>(), std::exp(final[0]["val_loss"].get<double>()),
              1e-9);
}

TEST_F(TrainTest, ResultsDoNotDependOnThreads) {
  std::vector<std::string> reference;
  for (const char* threads : {"1", "2", "3", "5"}) {
    const std::string run = path(std::string("threads") + threads);
    const ProcessResult result = train({"--out", run, "--set", std::string("threads=") + threads});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    if (reference.empty()) reference = losses(run);
    EXPECT_EQ(losses(run), reference) << threads << " threads";
    const std::string weights = run + "/checkpoints/step_00000024/model.safetensors";
    EXPECT_TRUE(testing::run({"/usr/bin/cmp", weights,
                              path("threads1/checkpoints/step_00000024/model.safetensors")})
                    .exit_code == 0);
  }
}

TEST_F(TrainTest, RecomputationChangesNoBit) {
  ASSERT_EQ(train().exit_code, 0);
  const std::string run = path("recomputed");
  ASSERT_EQ(train({"--out", run, "--set", "train.recompute=true"}).exit_code, 0);
  EXPECT_EQ(losses(run), losses(out()));
}

// Losses of later steps depend on all gradients before. Sums in another order differ by a few float
// epsilons, which 24 steps amplify: those of block Shampoo more, as its early factors lack full
// rank.
TEST_F(TrainTest, MicroBatchesAddUpToTheBatch) {
  for (const auto& [optimizer, tolerance] : {std::pair("adamw", 2e-5), {"dash", 2e-4}}) {
    Json config = default_config();
    config["optimizer"] = {{"type", optimizer}};
    if (optimizer == std::string("dash")) config["optimizer"]["block_size"] = 16;
    write_config(config);
    std::vector<std::vector<Json>> runs;
    for (const char* micro : {"1", "3", "8"}) {
      const std::string run = path(std::string(optimizer) + micro);
      ASSERT_EQ(train({"--out", run, "--set", std::string("train.micro_batch=") + micro}).exit_code,
                0);
      runs.push_back(metrics(run, "train"));
    }
    for (size_t i = 0; i < runs[0].size(); ++i) {
      const double loss = runs[0][i]["loss"];
      EXPECT_NEAR(runs[1][i]["loss"].get<double>(), loss, tolerance * loss) << optimizer;
      EXPECT_NEAR(runs[2][i]["loss"].get<double>(), loss, tolerance * loss) << optimizer;
    }
  }
}

TEST_F(TrainTest, ValidationDoesNotDependOnTheMicroBatch) {
  std::vector<std::vector<Json>> runs;
  for (const char* micro : {"1", "3", "8"}) {
    const std::string run = path(std::string("micro") + micro);
    ASSERT_EQ(train({"--out", run, "--set", std::string("train.micro_batch=") + micro, "--set",
                     "eval.batches=1"})
                  .exit_code,
              0);
    runs.push_back(metrics(run, "eval"));
    ASSERT_EQ(runs.back().size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const double loss = runs[0][i]["val_loss"];
      EXPECT_NEAR(runs.back()[i]["val_loss"].get<double>(), loss, 2e-5 * loss) << micro;
    }
  }
}

TEST_F(TrainTest, ValidatesAtTheLastStepUnlessTheFinalValidationDoes) {
  ASSERT_EQ(train({"--set", "eval.final=false"}).exit_code, 0);
  const auto evaluations = metrics(out(), "eval");
  ASSERT_EQ(evaluations.size(), 4u);
  EXPECT_EQ(evaluations.back()["step"], 24);
}

TEST_F(TrainTest, WarnsOfValuesThatDoNotDoWhatTheySeemTo) {
  const auto expect_warning = [&](const std::string& set, const std::string& words) {
    std::filesystem::remove_all(out());
    const ProcessResult result = train({"--set", "train.steps=2", "--set", set});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find(words), std::string::npos) << result.errors;
  };
  expect_warning("train.warmup_steps=2", "train.lr_final");
  expect_warning(
      R"(optimizer={"type":"shampoo","inverse_root":{"type":"evd","eigenvalue_heuristic":"abs"}})",
      "optimizer.inverse_root.ridge = 1e-10 has no effect");
}

// What eval computes in is what the run did.
TEST_F(TrainTest, Bf16TrainsAlmostAsFp32AndEvalRepeatsIt) {
  ASSERT_EQ(train({"--out", path("fp32")}).exit_code, 0);
  ASSERT_EQ(train({"--set", "train.precision=bf16"}).exit_code, 0);
  EXPECT_NE(losses(path("fp32")), losses(out()));
  const auto exact = metrics(path("fp32"), "train"), rounded = metrics(out(), "train");
  ASSERT_EQ(exact.size(), rounded.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    const double loss = exact[i]["loss"];
    EXPECT_NEAR(rounded[i]["loss"].get<double>(), loss, 2e-3 * loss);
  }
  const ProcessResult result = dashlm({"eval", out(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(Json::parse(result.output)["val_loss"], metrics(out(), "final")[0]["val_loss"]);
  const std::string config = read_file("run/checkpoints/step_00000024/config.json");
  EXPECT_NE(config.find("bfloat16"), std::string::npos);
}

// As in `dashlm train ... 2>&1 | head -n 1`.
TEST_F(TrainTest, ARunGoesOnWhenNobodyReadsItsMessages) {
  std::string command = "{ ";
  for (const std::string& word : train_command()) command += "'" + word + "' ";
  run({"/bin/sh", "-c", command + "; } 2>&1 | true"});
  // The shell waits for the last part of a pipe only.
  for (int i = 0; i < 600 && metrics(out(), "final").empty(); ++i) usleep(100000);
  EXPECT_EQ(metrics(out(), "final").size(), 1u);
}

// The last step is checkpointed before the final validation: what comes after counts too, as does
// what came before a resumption.
TEST_F(TrainTest, WallTimeCountsAllOfTheRun) {
  const auto wall = [&] { return metrics(out(), "final").at(0)["wall_s"].get<double>(); };
  const auto saved = [&](const std::string& step) {
    const Json run = Json::parse(read_file("run/checkpoints/step_" + step + "/run.json"));
    return run["state"]["seconds"].get<double>();
  };
  ASSERT_EQ(train().exit_code, 0);
  double steps = 0;
  for (const Json& step : metrics(out(), "train")) steps += step["step_ms"].get<double>() / 1e3;
  EXPECT_GT(saved("00000024"), steps);
  EXPECT_GT(wall(), saved("00000024"));
  ASSERT_EQ(train({"--resume", "--set", "train.steps=26"}).exit_code, 0);
  EXPECT_GT(wall(), saved("00000026"));
  EXPECT_GT(saved("00000026"), saved("00000024"));
}

TEST_F(TrainTest, EvalRepeatsTheFinalLoss) {
  ASSERT_EQ(train().exit_code, 0);
  const ProcessResult result = dashlm({"eval", out(), "--json", "--device", "cpu"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["val_loss"], metrics(out(), "final")[0]["val_loss"]);
  EXPECT_EQ(json["targets"], 299);
}

TEST_F(TrainTest, FrozenParametersDoNotCountTowardsTheNorm) {
  const auto norm_with = [&](const std::string& rules) {
    std::filesystem::remove_all(out());
    EXPECT_EQ(train({"--set", "train.steps=1", "--set", "optimizer.lr_scale=" + rules}).exit_code,
              0);
    return metrics(out(), "train").at(0)["grad_norm"].get<double>();
  };
  EXPECT_EQ(norm_with(R"(["*=0"])"), 0.0);
  const double all = norm_with("[]"), head = norm_with(R"(["*=0", "lm_head=1"])"),
               rest = norm_with(R"(["lm_head=0"])");
  EXPECT_NEAR(head * head + rest * rest, all * all, 1e-6 * all * all);
}

TEST_F(TrainTest, NonFiniteStepsAreSkippedAndEndTheRunWhenTheyGoOn) {
  // Embeddings of zero without an epsilon: their norm is 0/0.
  const std::vector<std::string> broken = {
      "--set", "model.init_std=0",   "--set", "model.norm_eps=0",
      "--set", "checkpoint.every=1", "--set", "checkpoint.keep=20"};
  std::vector<std::string> arguments = broken;
  arguments.insert(arguments.end(), {"--set", "train.max_skipped_steps=3"});
  const ProcessResult result = train(arguments);
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_NE(result.errors.find("4 steps in a row"), std::string::npos) << result.errors;

  // All that a skipped step may change is the count of steps and the place in the data.
  const std::string first = "run/checkpoints/step_00000001/",
                    third = "run/checkpoints/step_00000003/";
  EXPECT_EQ(read_file(first + "model.safetensors"), read_file(third + "model.safetensors"));
  EXPECT_EQ(read_file(first + "optimizer.safetensors"), read_file(third + "optimizer.safetensors"));
  const Json state = Json::parse(read_file(third + "run.json"))["state"];
  EXPECT_EQ(state["updates"], 0);
  EXPECT_EQ(state["skipped"], 3);
}

#ifndef __SANITIZE_ADDRESS__  // which takes memory of its own
TEST_F(TrainTest, PlanPredictsPeakMemory) {
  // Large enough that the program itself and OpenBLAS's buffers are small beside it.
  const Json model = {
      {"n_layer", 4}, {"d_model", 512}, {"n_head", 8}, {"vocab_size", 8192}, {"seq_len", 128}};
  Json config = default_config();
  config["model"] = model;
  config["train"]["steps"] = 2;
  config["train"]["batch"] = 8;
  config["train"]["micro_batch"] = 8;
  write_tokens("train_0.bin", 40000, 1, 8192);
  write_config(config);
  const Json plan = Json::parse(dashlm({"plan", path("config.json"), "--json"}).output);
  const ProcessResult result = train();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const double predicted = plan["bytes"]["total"], actual = static_cast<double>(result.peak_rss);
  EXPECT_NEAR(actual / predicted, 1.0, 0.10) << predicted << " predicted, " << actual << " used";
}
#endif

}  // namespace
}  // namespace dashlm::testing
