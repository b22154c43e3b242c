// The training loop.
//
// A step is five calls: sample, forward and backward, reduce, update, gather. On one rank there is
// nothing to gather, and reducing is taking the norm. Rank 0 alone looks after the run directory:
// it writes metrics and the log, and says which checkpoint to resume from.
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
  // Every rank of the communicator does the same; its ranks must agree on everything.
  Trainer(Device& device, const RunConfig& config, bool resume, Communicator& communicator);

  // Trains to the end. Returns the exit code: 0, or 128 + signal after SIGINT or SIGTERM, with a
  // checkpoint written. Throws an Error with ExitCode::diverged after too many skipped steps.
  int run();

 private:
  bool leads() const { return communicator_.rank() == 0; }
  void open_run_directory(bool resume);
  void start(bool resume);
  // The checkpoint to resume from, or "" for the beginning; the same on every rank.
  std::string choose_checkpoint(bool resume);
  void describe_run() const;
  void train_step(BatchLoader& loader);
  // True if loss and norm are finite; else the step is counted as skipped.
  bool accept(double loss, double norm);
  void report(const StepMetrics& metrics);
  void report_statistics();
  // Saves and returns the exit code, once a signal has reached any rank.
  int stop();
  // The mean loss over `batches` times train.batch validation sequences, whatever the micro-batch;
  // 0: over all of them.
  double validate(int64_t batches);
  void validate_during_training();
  void finish();
  void save();
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }

  const RunConfig config_;
  Communicator& communicator_;
  TokenStream train_tokens_;
  std::unique_ptr<TokenStream> val_tokens_;
  SampleOrder order_;
  Engine engine_;
  CheckpointStore store_;
  RunState state_;
  int64_t saved_step_ = -1;
  bool stop_asked_ = false;              // by a signal to any rank, when the ranks last spoke
  std::unique_ptr<DirectoryLock> lock_;  // one run a run directory; of rank 0, like what follows
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace dashlm
