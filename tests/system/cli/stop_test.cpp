// A signal during a validation does not wait for its end; the resumed run makes it up.
#include <chrono>
#include <csignal>
#include <thread>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class StopTest : public RunTest {
 protected:
  // Validations that take hundreds of steps' time.
  void SetUp() override {
    RunTest::SetUp();
    write_tokens("val.bin", 400000, 4);
    Json config = default_config();
    config["train"]["steps"] = 8;
    config["train"]["log_every"] = 1;
    config["eval"] = {{"every", 6}, {"batches", 0}};
    config["checkpoint"]["every"] = 0;
    write_config(config);
  }

  // Of a run that gets the signal once its metrics have this many steps.
  ProcessResult stopped_after(size_t steps, const std::vector<std::string>& extra) const {
    Process process(train_command(extra));
    while (process.running() && metrics(out(), "train").size() < steps) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    process.signal(SIGTERM);
    return process.wait();
  }
  static std::vector<std::string> lines(const std::string& run) {
    std::vector<std::string> found;
    for (const char* kind : {"eval", "final"}) {
      for (const Json& json : metrics(run, kind)) {
        found.push_back(json["kind"].dump() + json["step"].dump() + " " + json["val_loss"].dump());
      }
    }
    return found;
  }
};

TEST_F(StopTest, AValidationDuringTrainingIsLeftAndMadeUp) {
  ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
  const ProcessResult stopped = stopped_after(6, {});
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.errors;
  EXPECT_EQ(metrics(out(), "eval").size(), 0u) << "it waited for the end";
  EXPECT_EQ(checkpoints(out()), std::vector<std::string>{"step_00000006"});
  // Again, while it is made up.
  Process again(train_command({"--resume"}));
  const std::string log = out() + "/log.txt";
  while (again.running() && read_file("run/log.txt").find("resuming after") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  again.signal(SIGKILL);
  again.wait();
  const ProcessResult resumed = train({"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(lines(out()), lines(path("whole")));
  EXPECT_EQ(lines(out()).size(), 2u);
  EXPECT_EQ(losses(out()), losses(path("whole")));
  // What is there is not made up once more.
  const std::string larger = "train.steps=9";
  ASSERT_EQ(train({"--resume", "--set", larger, "--set", "eval.final=false"}).exit_code, 0);
  EXPECT_EQ(metrics(out(), "eval").size(), 1u);
}

TEST_F(StopTest, TheFinalValidationIsLeftAndMadeUp) {
  ASSERT_EQ(train({"--out", path("whole"), "--set", "eval.every=0"}).exit_code, 0);
  const ProcessResult stopped = stopped_after(8, {"--set", "eval.every=0"});
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.errors;
  EXPECT_EQ(metrics(out(), "final").size(), 0u) << "it waited for the end";
  EXPECT_EQ(checkpoints(out()), std::vector<std::string>{"step_00000008"});
  const ProcessResult resumed = train({"--resume", "--set", "eval.every=0"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(lines(out()), lines(path("whole")));
}

}  // namespace
}  // namespace dashlm::testing
