// The configuration of a training run: one JSON file.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "data/data_config.h"
#include "model/model_config.h"
#include "optim/optimizer_config.h"
#include "optim/schedule.h"

namespace dashlm {

struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 8;
  int64_t micro_batch = 0;  // 0: batch
  double lr = 1e-3;
  Schedule schedule;
  double grad_clip = 1.0;
  ModelPrecision precision = ModelPrecision::fp32;
  ModelPrecision residual = ModelPrecision::fp32;
  bool recompute = false;
  int64_t seed = 1;
  int64_t max_skipped_steps = 10;
  int64_t log_every = 10;
  int64_t compare_ranks_every = 0;
  double stall_minutes = 30;

  void describe(Schema& schema);
  // The learning rate of `step`, which counts from 0 and is less than `steps`.
  double rate(int64_t step) const { return lr * schedule.at(step, steps); }
};

struct EvalConfig {
  int64_t every = 100;
  int64_t batches = 32;
  bool final = true;

  void describe(Schema& schema);
};

struct CheckpointConfig {
  int64_t every = 1000;
  int64_t keep = 2;

  void describe(Schema& schema);
};

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  OptimizerConfig optimizer;
  std::string device = "auto";
  int64_t threads = 0;
  std::string out;
  std::vector<std::string> notes;  // about keys that layers dropped; not described

  void describe(Schema& schema);
  // Fills in values that follow from others, and checks conditions on several sections.
  void resolve();
  // Sentences about values without the effect that they seem to have. Call it after resolve().
  std::vector<std::string> warnings() const;
};

// Reads the config at `path`, applies the overrides ("section.key=value" each) and resolves. All
// paths become absolute. Paths in a file are relative to its folder, paths in overrides to the
// current folder. A run's own config (train/run_directory.h) is an exception. Its `out` is the
// folder in which it lies, since the run may have been moved. Its relative paths, which only older
// versions wrote, start from the current folder.
RunConfig load_run_config(const std::string& path, const std::vector<std::string>& overrides);
// Does the same with the text of a resolved config. Errors name `source`. Relative paths start from
// the current folder.
RunConfig parse_run_config(const std::string& text, const std::string& source);
// Adds newer keys to the settings of an older version's run. Their values describe the behaviour of
// that version, so the run goes on as it began.
void complete_older_settings(Json& settings);
// Every key with its value, as JSON text.
std::string run_config_text(RunConfig config);

}  // namespace dashlm
