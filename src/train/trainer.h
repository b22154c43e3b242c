// The training loop.
//
// A step is five calls: sample, forward and backward, reduce, update, gather. On one rank there is
// nothing to gather, and reducing is taking the norm. Rank 0 alone looks after the run directory:
// it writes metrics and the log, and says which checkpoint to resume from.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/timer.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/progress.h"
#include "train/run_directory.h"
#include "train/run_result.h"
#include "train/stall_watch.h"

namespace dashlm {

class Trainer {
 public:
  // Prepares the run directory config.out, in which `start` must be possible. An existing run goes
  // on from its newest sound checkpoint, or from the beginning if it has none. Every rank of the
  // communicator makes this call, with the same config.
  Trainer(Device& device, const RunConfig& config, RunStart start, Communicator& communicator);

  // Trains to the end. If the run is complete already, says so and touches nothing in its
  // directory. Returns the exit code: 0, or 128 + signal after a stop signal, with a checkpoint
  // written. Throws an Error with ExitCode::diverged after too many skipped steps.
  int run();

 private:
  bool leads() const { return communicator_.rank() == 0; }
  // Finds tokens outside the vocabulary now, which would end the run in the middle.
  void check_data() const;
  void begin(RunStart start);
  void open_run_directory(RunStart start);
  // Whether all steps of the run are done and their result is written. `folder` is its newest
  // checkpoint, or "".
  bool nothing_left(const std::string& folder) const;
  void load(const std::string& folder, RunStart start);
  // The checkpoint from which to resume, or "" for the beginning; the same on every rank.
  std::string choose_checkpoint();
  void describe_run();
  void report_completion() const;
  // Trains from the state that begin() has left to the end.
  int train();
  void train_step(BatchLoader& loader);
  // Returns whether loss and norm are finite. If not, counts the step as skipped.
  bool accept(double loss, double norm);
  void report(const StepMetrics& metrics);
  void report_statistics();
  // Writes to result.json how the run ended.
  void note_end(const std::string& ended, const std::string& reason = "",
                std::optional<double> val_loss = std::nullopt);
  void note_divergence(const std::string& reason);
  // Saves, and returns the exit code. Called once a signal has reached any rank.
  int stop();
  bool scores_at_end() const { return val_tokens_ && config_.eval.final; }
  // The mean loss over `batches` times train.batch validation sequences, whatever the micro-batch.
  // 0 means all sequences. Returns nothing once a signal has reached any rank.
  std::optional<double> validate(int64_t batches);
  // Whether a validation is due after the present step.
  bool validation_due() const;
  // Whether a validation is due that an earlier process did not make, because it was told to stop.
  bool validation_missing();
  // These two return false if a signal came first.
  bool validate_during_training();
  bool finish();
  void save();
  // The seconds of the run, its earlier processes included.
  double seconds_so_far() const { return earlier_seconds_ + timer_.seconds(); }
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }

  const Timer timer_;  // before all that takes time
  const RunConfig config_;
  Communicator& communicator_;
  TokenStream train_tokens_;
  std::unique_ptr<TokenStream> val_tokens_;
  SampleOrder order_;
  Engine engine_;
  StallWatch watch_;
  CheckpointStore store_;
  RunState state_;
  RunSetting setting_;          // known once the run is described
  double earlier_seconds_ = 0;  // up to the checkpoint that was resumed from
  int64_t saved_step_ = -1;
  bool diverged_together_ = false;       // if the run diverges, every rank sees it
  bool complete_ = false;                // before this process began
  bool stop_asked_ = false;              // by a signal to any rank, when the ranks last spoke
  std::unique_ptr<DirectoryLock> lock_;  // one run a run directory; of rank 0, like what follows
  HfTokenizer tokenizer_;                // for the checkpoints
  std::optional<FinalResult> result_;    // of an earlier process that came to the end
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace dashlm
