// metrics.jsonl: one JSON object a line, told apart by "kind".
//
//   train   step, tokens, loss, lr, grad_norm, skipped, step_ms, data_ms, forward_backward_ms,
//           optimizer_ms, communication_ms, bytes_sent, tokens_per_s
//           mfu: on GPUs with a known peak rate
//           pack_ms, factors_ms, roots_ms, update_ms: with an optimizer of roots
//   eval    step, val_loss, val_ppl, tokens
//   final   step, val_loss, val_ppl, tokens, wall_s
//           after divergence also diverged = true; step is the one that failed, val_loss is null
//   blocks  step, group, and figures about a group of blocks (optimizer.statistics_every)
//           rank: the owner of the blocks, if there are several ranks
//           Figures about the computation of roots, from steps_mean on, are missing until this
//           process has computed every root of the group. A resumed run has them from the end of
//           its first optimizer.frequency steps.
//
// Losses are in nats per target token. tokens counts the tokens trained on so far. wall_s adds up
// the wall time of the run's processes, from reading the data to the final validation, with all
// validation and saving, but without steps that a kill undid. tokens_per_s counts all ranks. Times,
// bytes and mfu are rank 0's. communication_ms is the time in which the step packed tensors for
// other ranks or waited for theirs. bytes_sent are the bytes sent to other ranks. mfu divides the
// FLOPs of the passes, without recomputation, by the whole step's time and the peak rate.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "optim/optimizer.h"

namespace dashlm {

// exp(loss) for people: "23.51"; "1.2e+87" after divergence.
std::string perplexity_text(double loss);
// "validation loss 3.2100, perplexity 24.78"
std::string loss_text(double loss);

struct StepMetrics {
  int64_t step = 0;  // counted from 1
  int64_t tokens = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  bool skipped = false;
  double step_ms = 0, data_ms = 0, forward_backward_ms = 0, optimizer_ms = 0, communication_ms = 0;
  int64_t bytes_sent = 0;
  double tokens_per_s = 0;
  double mfu = 0;  // model FLOPs utilisation: of the peak at train.precision; 0: unknown
  UpdateTimes optimizer;
};

// The "final" line of a finished run.
struct FinalResult {
  int64_t step = 0;
  bool scored = false;  // with a loss on the validation set
  double val_loss = 0;  // NaN if it was not finite
};

// Reads the final line of metrics.jsonl at `path`; nothing if the run has not begun or not ended.
std::optional<FinalResult> read_final_result(const std::string& path);

// Appends the final line of a run that diverged. The rank that noticed it calls this.
void append_divergence(const std::string& path, int64_t step, int64_t tokens, double wall_seconds);

class MetricsLog {
 public:
  // Appends to `path`. First removes the lines of steps after `step` and a half-written last line,
  // since a resumed run makes these steps again.
  MetricsLog(const std::string& path, int64_t step);

  // The last step with an "eval" line in the file when it was opened; 0 if there was none.
  int64_t last_evaluated() const { return last_evaluated_; }

  void train(const StepMetrics& metrics);
  void eval(int64_t step, double loss, int64_t tokens);
  void final(int64_t step, double loss, int64_t tokens, double wall_seconds);
  // `rank` is the owner of the blocks; -1 if there is one rank.
  void blocks(int64_t step, const BlockStatistics& statistics, int rank = -1);
  // The final line of a run without validation data.
  void final(int64_t step, int64_t tokens, double wall_seconds);

 private:
  void write(const std::string& line);

  // Returns last_evaluated().
  static int64_t remove_later_steps(const std::string& path, int64_t step);

  std::string path_;
  int64_t last_evaluated_;
  std::ofstream file_;
};

}  // namespace dashlm
