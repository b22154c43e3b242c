// --resume goes on with the run it is given and with no other, and harms nothing it is given by
// mistake.
#include <fmt/format.h>

#include <map>

#include "io/checkpoint_store.h"
#include "system/cli/expect_words.h"
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

class ResumeHarmTest : public RunTest {
 protected:
  // Everything below a directory: the content of files, and when each entry was last changed.
  using Snapshot = std::map<std::string, std::pair<std::string, fs::file_time_type>>;
  Snapshot snapshot(const std::string& name) const {
    Snapshot found;
    const auto add = [&](const fs::path& entry) {
      const std::string inside = fs::relative(entry, directory_).string();
      found[inside] = {fs::is_directory(entry) ? "" : read_file(inside),
                       fs::last_write_time(entry)};
    };
    if (!fs::exists(path(name))) return found;
    add(path(name));
    if (!fs::is_directory(path(name))) return found;
    for (const auto& entry : fs::recursive_directory_iterator(path(name))) add(entry.path());
    return found;
  }

  void expect_no_word(const ProcessResult& result, const std::string& word) const {
    EXPECT_EQ(result.errors.find(word), std::string::npos) << result.errors;
  }

  // The directory is refused, in words, and stays as it is.
  void expect_refused(const std::string& name, const std::vector<std::string>& words,
                      const std::string& flag = "--resume") const {
    const Snapshot before = snapshot(name);
    std::vector<std::string> arguments = {"--out", path(name)};
    if (!flag.empty()) arguments.push_back(flag);
    expect_words(train(arguments), 1, words);
    EXPECT_EQ(snapshot(name), before) << name;
  }

  // The learning rate of a step of the run as it stands, in the words of the log.
  std::string rate(size_t step) const {
    return fmt::format("{:.4g}", metrics(out(), "train").at(step - 1)["lr"].get<double>());
  }

  // Puts other text into run.json of a checkpoint, whose manifest says so.
  void replace_run_json(const std::string& run, int64_t step, const std::string& text) const {
    CheckpointStore store(path(run) + "/checkpoints", 100);
    const auto writer = store.begin(step);
    CheckpointPart part(writer->folder());
    const std::string folder = fmt::format("{}/checkpoints/step_{:08}", run, step);
    for (const auto& entry : fs::directory_iterator(path(folder))) {
      const std::string name = entry.path().filename().string();
      if (name == "manifest.json") continue;
      part.write_text(name, name == "run.json" ? text : read_file(folder + "/" + name));
    }
    writer->add(part.files());
    writer->commit();
  }
};

TEST_F(ResumeHarmTest, APlaceWithoutARunIsNamedForWhatItIs) {
  ASSERT_EQ(train().exit_code, 0);
  const std::string checkpoint = "run/checkpoints/step_00000024";
  fs::copy(path(checkpoint), path("copied"), fs::copy_options::recursive);
  fs::create_directories(path("model"));
  fs::copy(path(checkpoint) + "/config.json", path("model/config.json"));
  fs::copy(path(checkpoint) + "/model.safetensors", path("model/model.safetensors"));
  fs::create_directories(path("other"));
  write_file("other/config.json", "{\"mine\": 1}");
  write_file("file", "text");
  fs::create_directories(path("project/checkpoints/old"));
  write_file("project/config.json", "{\"mine\": 1}");
  for (const char* flag : {"--resume", "--resume-or-start", ""}) {
    expect_refused(checkpoint, {"is a checkpoint of the run", path("run")}, flag);
    expect_refused(checkpoint + "/", {"is a checkpoint of the run", path("run")}, flag);
    expect_refused("run/checkpoints", {"folder of checkpoints of the run", path("run")}, flag);
    expect_refused("copied", {"copied", "is a checkpoint"}, flag);
    expect_refused("model", {"model", "Hugging Face"}, flag);
    expect_refused("other", {"config.json that no run wrote"}, flag);
    expect_refused("file", {"is a file"}, flag);
    expect_refused("run/checkpoints/step_00000099",
                   {"lies among the checkpoints of the run", path("run")}, flag);
    expect_refused("project", {"config.json that no run wrote"}, flag);
  }
  expect_words(dashlm({"eval", path(checkpoint)}), 0, {});
}

TEST_F(ResumeHarmTest, AMistypedOutIsNoReasonToStart) {
  fs::create_directories(path("empty"));
  fs::create_directories(path("notes"));
  for (const char* name : {"a", "b", "c", "d", "e"}) write_file(std::string("notes/") + name, "");
  expect_refused("absent", {"absent", "does not exist", "--resume-or-start"});
  expect_refused("empty", {"is empty"});
  expect_refused("notes", {"a, b, c and 2 more"});
  EXPECT_FALSE(fs::exists(path("absent")));
  ASSERT_EQ(train({"--out", path("notes"), "--resume-or-start"}).exit_code, 0);
  expect_words(train({"--resume", "--resume-or-start"}), 1, {"--resume"});
}

TEST_F(ResumeHarmTest, QueuesStartTheRunAndGoOnWithIt) {
  ASSERT_EQ(train({"--out", path("whole")}).exit_code, 0);
  const std::vector<std::string> line = {"--resume-or-start"};
  expect_words(train(line), 0, {"starting from the beginning"});
  fs::remove_all(out() + "/checkpoints/step_00000024");
  expect_words(train(line), 0, {"resuming after step 20"});
  EXPECT_EQ(losses(out()), losses(path("whole")));
}

TEST_F(ResumeHarmTest, AMovedRunGoesOnWhereItLies) {
  ASSERT_EQ(train({"--set", "train.steps=10"}).exit_code, 0);
  fs::rename(out(), path("moved"));
  const std::string config = path("moved/config.json");
  expect_words(dashlm({"train", config, "--resume", "--set", "train.steps=12"}), 0, {});
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_EQ(losses(path("moved")).size(), 12u);
  EXPECT_EQ(Json::parse(read_file("moved/config.json"))["out"], path("moved"));

  // Another run lies in the old place by now.
  ASSERT_EQ(train({"--set", "train.steps=2"}).exit_code, 0);
  fs::rename(path("moved"), path("again"));
  const Snapshot before = snapshot("run");
  const std::string again = path("again/config.json");
  expect_words(dashlm({"train", again, "--resume", "--set", "train.steps=14"}), 0, {});
  EXPECT_EQ(snapshot("run"), before);
  EXPECT_EQ(losses(path("again")).size(), 14u);

  // What is said explicitly wins, and without --resume the run is in the way.
  const std::string steps = "train.steps=15";
  expect_words(dashlm({"train", again, "--resume", "--out", path("absent"), "--set", steps}), 1,
               {"absent"});
  expect_words(dashlm({"train", again, "--resume", "--set", "out=" + path("absent")}), 1,
               {"absent"});
  expect_words(dashlm({"train", again}), 1, {path("again"), "already holds a run"});
}

TEST_F(ResumeHarmTest, AFinishedRunIsLeftAlone) {
  ASSERT_EQ(train().exit_code, 0);
  for (const char* also : {"train.log_every=7", "eval.final=false", "train.lr=0.02"}) {
    const Snapshot before = snapshot("run");
    expect_words(train({"--resume", "--set", also}), 0, {"is complete", "24 steps"});
    EXPECT_EQ(snapshot("run"), before) << also;
  }
  // Its checkpoints were removed to make room: that is no reason to train it again.
  fs::remove_all(out() + "/checkpoints");
  const Snapshot before = snapshot("run");
  expect_words(train({"--resume"}), 0, {"is complete"});
  expect_words(train({"--resume", "--set", "train.steps=30"}), 1, {"24 steps", "steps = 30"});
  EXPECT_EQ(snapshot("run"), before);
  // Its loss was not finite: it is no better the second time.
  std::string lines = read_file("run/metrics.jsonl");
  const size_t at = lines.rfind("\"val_loss\":") + 11;
  lines.replace(at, lines.find(',', at) - at, "null");
  write_file("run/metrics.jsonl", lines);
  expect_words(train({"--resume"}), 3, {"is complete", "diverged"});
}

// Killed during the final validation, or finished without one that is wanted now.
TEST_F(ResumeHarmTest, AFinalValidationThatIsMissingIsMadeUpFor) {
  ASSERT_EQ(train().exit_code, 0);
  const Json result = metrics(out(), "final").at(0);
  std::string lines = read_file("run/metrics.jsonl");
  lines.resize(lines.rfind("{\"kind\":\"final\""));
  write_file("run/metrics.jsonl", lines);
  expect_words(train({"--resume"}), 0, {"validation loss"});
  EXPECT_EQ(metrics(out(), "final").at(0)["val_loss"], result["val_loss"]);

  ASSERT_EQ(train({"--out", path("unscored"), "--set", "eval.final=false"}).exit_code, 0);
  EXPECT_FALSE(metrics(path("unscored"), "final").at(0).contains("val_loss"));
  ASSERT_EQ(train({"--out", path("unscored"), "--resume"}).exit_code, 0);
  ASSERT_EQ(metrics(path("unscored"), "final").size(), 1u);
  EXPECT_EQ(metrics(path("unscored"), "final")[0]["val_loss"], result["val_loss"]);
}

TEST_F(ResumeHarmTest, FewerStepsThanWereDoneAreRefused) {
  ASSERT_EQ(train().exit_code, 0);
  const auto before = losses(out());
  expect_words(train({"--resume", "--set", "train.steps=20"}), 1, {"24 steps", "train.steps = 20"});
  EXPECT_EQ(losses(out()), before);
  EXPECT_EQ(metrics(out(), "final").size(), 1u);
}

TEST_F(ResumeHarmTest, MoreStepsSayWhatBecomesOfTheLearningRate) {
  Json config = default_config();
  config["train"]["steps"] = 100;
  config["eval"]["every"] = 0;
  config["checkpoint"] = {{"every", 20}, {"keep", 10}};
  write_config(config);
  ASSERT_EQ(train().exit_code, 0);
  for (const char* step : {"60", "80", "100"}) {
    fs::remove_all(fmt::format("{}/checkpoints/step_{:0>8}", out(), step));
  }
  EXPECT_EQ(rate(40), "0.00775");
  const std::string planned = rate(41);
  const ProcessResult result = train({"--resume", "--set", "train.steps=200"});
  EXPECT_EQ(rate(41), "0.009701");
  expect_words(result, 0, {"learning rate of step 41 is 0.009701", "it was " + planned});

  const ProcessResult ended = train({"--resume", "--set", "train.steps=210"});
  expect_words(ended, 0, {"learning rate of step 201 is", "ended with 0.001"});
  EXPECT_EQ(losses(out()).size(), 210u);
}

TEST_F(ResumeHarmTest, ChangedSettingsSayWhatTheyDo) {
  ASSERT_EQ(train().exit_code, 0);
  const auto again = [&](const std::string& setting) {
    fs::remove_all(path("again"));
    fs::copy(out(), path("again"), fs::copy_options::recursive);
    fs::remove_all(path("again/checkpoints/step_00000024"));
    return train({"--resume", "--out", path("again"), "--set", setting});
  };
  const ProcessResult seed = again("data.seed=8");
  expect_words(seed, 0, {"data.seed = 8, which was 7", "another order from step 21 on", "epoch 3"});
  expect_no_word(seed, "learning rate of step");
  const ProcessResult constant = again("train.schedule=constant");
  expect_words(constant, 0, {"learning rate of step 21 is 0.01;", "it was " + rate(21)});
  expect_no_word(constant, "another order");
  expect_words(again("train.lr_final=1"), 0, {"learning rate of step 21 is 0.01;"});
  const ProcessResult harmless = again("train.log_every=3");
  expect_words(harmless, 0, {});
  expect_no_word(harmless, "learning rate of step");
  expect_no_word(harmless, "another order");
}

TEST_F(ResumeHarmTest, ARefusedResumptionLeavesNoWordInTheLog) {
  ASSERT_EQ(train({"--set", "train.steps=10"}).exit_code, 0);
  const std::string log = read_file("run/log.txt");
  const auto before = losses(out());
  for (const char* setting : {"model.n_layer=3", "train.steps=5", "optimizer.type=dash"}) {
    EXPECT_EQ(train({"--resume", "--set", setting}).exit_code, 1);
    // As if it had been interrupted.
    fs::rename(path("run/metrics.jsonl"), path("metrics"));
    EXPECT_EQ(train({"--resume", "--set", setting}).exit_code, 1);
    fs::rename(path("metrics"), path("run/metrics.jsonl"));
    EXPECT_EQ(read_file("run/log.txt"), log) << setting;
  }
  // What was said before the log was opened is in it.
  ASSERT_EQ(train({"--resume", "--set", "train.steps=12"}).exit_code, 0);
  const std::string more = read_file("run/log.txt").substr(log.size());
  EXPECT_NE(more.find("train.steps = 12, which was 10"), std::string::npos) << more;
  EXPECT_NE(more.find("resuming after step 10"), std::string::npos) << more;
}

// Warm-up and decay follow the number of steps, micro-batches the batch.
TEST_F(ResumeHarmTest, AChangeIsNotToldAgainForWhatFollowsIt) {
  Json config = default_config();
  config["train"]["steps"] = 10;
  config["train"].erase("micro_batch");
  write_config(config);
  ASSERT_EQ(train().exit_code, 0);
  const ProcessResult result =
      train({"--resume", "--set", "train.steps=40", "--set", "train.batch=6"});
  expect_words(result, 0, {"train.steps = 40, which was 10", "train.batch = 6, which was 8"});
  for (const char* key : {"warmup_steps", "decay_steps", "micro_batch"}) {
    expect_no_word(result, std::string("train.") + key);
  }
  const ProcessResult own =
      train({"--resume", "--set", "train.steps=42", "--set", "train.warmup_steps=1"});
  expect_words(own, 0, {"train.warmup_steps = 1, which was 4"});
  // Here the micro-batch would not even go with the default of the batch, which is 8.
  const std::string run = path("large");
  ASSERT_EQ(
      train({"--out", run, "--set", "train.batch=12", "--set", "train.micro_batch=12"}).exit_code,
      0);
  expect_words(train({"--out", run, "--resume", "--set", "train.batch=16", "--set",
                      "train.micro_batch=12", "--set", "train.steps=12"}),
               0, {"train.batch = 16, which was 12"});
}

TEST_F(ResumeHarmTest, RunJsonOfAnotherShapeIsNamed) {
  ASSERT_EQ(train({"--set", "train.steps=10"}).exit_code, 0);
  const Json good = Json::parse(read_file("run/checkpoints/step_00000010/run.json"));
  std::vector<Json> shapes = {Json::array(), 3, Json::object(), {{"state", 1}, {"config", 2}}};
  for (const char* pointer : {"/state", "/config", "/config/model", "/config/train"}) {
    shapes.push_back(good);
    shapes.back()[Json::json_pointer(pointer)] = Json::array({1});
  }
  shapes.push_back(good);
  shapes.back()["state"].erase("step");
  shapes.push_back(good);
  shapes.back()["state"]["updates"] = "many";
  shapes.push_back(good);
  shapes.back()["config"]["train"]["lr"] = Json::object();
  for (const Json& shape : shapes) {
    replace_run_json("run", 10, shape.dump());
    for (const char* steps : {"train.steps=10", "train.steps=12"}) {
      expect_words(train({"--resume", "--set", steps}), 1, {"step_00000010/run.json"});
    }
  }
  replace_run_json("run", 10, "[1]");
  expect_words(dashlm({"eval", out()}), 1, {"step_00000010/run.json"});
}

// Notes that somebody else wrote among the metrics stay there.
TEST_F(ResumeHarmTest, MetricsOfAnotherShapeAreKept) {
  ASSERT_EQ(train({"--set", "train.steps=10"}).exit_code, 0);
  const std::string notes = "{\"step\":\"last\",\"kind\":5}\n{\"note\":\"final\"}\n";
  write_file("run/metrics.jsonl", notes + read_file("run/metrics.jsonl"));
  expect_words(train({"--resume", "--set", "train.steps=12"}), 0, {});
  EXPECT_EQ(read_file("run/metrics.jsonl").substr(0, notes.size()), notes);
  EXPECT_EQ(losses(out()).size(), 12u);
}

}  // namespace
}  // namespace dashlm::testing
