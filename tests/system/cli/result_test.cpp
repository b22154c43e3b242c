// result.json and the final line of metrics.jsonl say how a run ended.
#include <chrono>
#include <csignal>
#include <thread>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class ResultTest : public RunTest {
 protected:
  Json result() const { return Json::parse(read_file("run/result.json")); }
  Json plan() const {
    return Json::parse(dashlm({"plan", path("run/config.json"), "--json"}).output);
  }
  // Of a long run that gets the signal after a few steps.
  void interrupt(int signal) const {
    Process process(train_command({"--set", "train.steps=100000", "--resume-or-start"}));
    const size_t before = metrics(out(), "train").size();
    while (process.running() && metrics(out(), "train").size() < before + 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    process.signal(signal);
    process.wait();
  }
};

TEST_F(ResultTest, OfARunThatIsKilledStoppedAndFinished) {
  interrupt(SIGKILL);
  EXPECT_EQ(result()["ended"], "running");
  interrupt(SIGTERM);
  EXPECT_EQ(result()["ended"], "stopped");
  EXPECT_EQ(result()["reason"], "by signal 15");
  EXPECT_EQ(result()["step"], std::ssize(metrics(out(), "train")));
  const int64_t last = result()["step"].get<int64_t>() + 3;
  ASSERT_EQ(train({"--resume", "--set", "train.steps=" + std::to_string(last)}).exit_code, 0);
  const Json final = metrics(out(), "final").at(0);
  EXPECT_EQ(result(), (Json{{"ended", "finished"},
                            {"step", last},
                            {"tokens", final["tokens"]},
                            {"wall_s", result()["wall_s"]},
                            {"machine", result()["machine"]},
                            {"parameters", plan()["parameters"]},
                            {"bytes_per_rank", plan()["bytes"]["total"]},
                            {"val_loss", final["val_loss"]}}));
  EXPECT_NE(result()["machine"].get<std::string>().find("one process; products by our"),
            std::string::npos);
  EXPECT_GE(result()["wall_s"], final["wall_s"]);
}

TEST_F(ResultTest, OfARunThatDiverged) {
  // Embeddings of zero without an epsilon: their norm is 0/0.
  const auto run_with = [&](const std::string& most_skipped, const std::string& how) {
    return train({"--set", "model.init_std=0", "--set", "model.norm_eps=0", "--set",
                  "train.max_skipped_steps=" + most_skipped, how});
  };
  EXPECT_EQ(run_with("2", "--resume-or-start").exit_code, 3);
  EXPECT_EQ(result()["ended"], "diverged");
  EXPECT_EQ(result()["step"], 3);
  EXPECT_FALSE(result().contains("val_loss"));
  EXPECT_NE(result()["reason"].get<std::string>().find("3 steps in a row"), std::string::npos);
  const Json final = metrics(out(), "final").at(0);
  EXPECT_EQ(final["step"], 3);
  EXPECT_EQ(final["diverged"], true);
  EXPECT_TRUE(final["val_loss"].is_null());
  // It is not complete, so it may go on; here to a loss that is no better.
  EXPECT_EQ(run_with("100", "--resume").exit_code, 3);
  EXPECT_EQ(result()["ended"], "diverged");
  EXPECT_EQ(result()["step"], 24);
  ASSERT_EQ(metrics(out(), "final").size(), 1u);
  EXPECT_EQ(metrics(out(), "final")[0]["step"], 24);
}

}  // namespace
}  // namespace dashlm::testing
