// The training loop.
//
// A step is five calls: sample, forward and backward, reduce, update, gather. On one rank there is
// nothing to gather, and reducing is taking the norm.
#pragma once

#include <memory>
#include <string>

#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/progress.h"

namespace dashlm {

class Trainer {
 public:
  // Prepares the run directory config.out. A directory that already holds a run is an error unless
  // `resume`, which continues from its newest sound checkpoint, or from the start if it has none.
  Trainer(Device& device, const RunConfig& config, bool resume);

  // Trains to the end. Returns the exit code: 0, or 128 + signal after SIGINT or SIGTERM, with a
  // checkpoint written. Throws an Error with ExitCode::diverged after too many skipped steps.
  int run();

 private:
  void open_run_directory();
  void start(bool resume);
  void train_step(BatchLoader& loader);
  // True if loss and norm are finite; else the step is counted as skipped.
  bool accept(double loss, double norm);
  LossSum validate(int64_t batches);
  void validate_during_training();
  void finish();
  void save();
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }

  const RunConfig config_;
  TokenStream train_tokens_;
  std::unique_ptr<TokenStream> val_tokens_;
  SampleOrder order_;
  Engine engine_;
  CheckpointStore store_;
  RunState state_;
  int64_t saved_step_ = -1;
  std::unique_ptr<DirectoryLock> lock_;  // one process a run directory
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace dashlm
