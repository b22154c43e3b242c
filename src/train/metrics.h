// metrics.jsonl: one JSON object a line, told apart by "kind".
//
//   train  step, tokens, loss, lr, grad_norm, skipped, step_ms, data_ms, forward_backward_ms,
//          optimizer_ms, communication_ms, bytes_sent, tokens_per_s; on GPUs whose peak rate is
//          known also mfu; of a block-wise optimizer also pack_ms, factors_ms, roots_ms, update_ms
//   eval   step, val_loss, val_ppl, tokens
//   final  step, val_loss, val_ppl, tokens, wall_s; of a run that diverged also diverged = true,
//   with
//          the step that could not be made and val_loss = null
//   blocks step, group, and figures about a group of blocks (optimizer.statistics_every); with
//          several ranks also rank, whose blocks these are; those about the computation of roots
//          (steps_mean and what follows) are missing until this process has computed every root of
//          the group: a resumed run has them from the end of its first optimizer.frequency steps
//
// Losses are in nats per target token, tokens are those trained on so far. wall_s is the wall time
// of the run's processes added up, from reading the data to the final validation, with all
// validation and saving; what a kill undid is not in it. tokens_per_s is of all ranks together;
// times, bytes and mfu are those of rank 0. communication_ms is the part of the step in which it
// packed or waited for what travels between ranks, and bytes_sent is what it sent to others. mfu
// counts the FLOPs of the passes without what is computed twice, over the whole step.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "optim/optimizer.h"

namespace dashlm {

// exp(loss) for people: "23.51", "1.2e+87" of a run that diverged.
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

// What the "final" line of a finished run says.
struct FinalResult {
  int64_t step = 0;
  bool scored = false;  // with a loss on the validation set
  double val_loss = 0;  // NaN if it was not finite
};

// Of metrics.jsonl at `path`; nothing if the run did not come to its end, or did not begin.
std::optional<FinalResult> read_final_result(const std::string& path);

// Appends the final line of a run that diverged, by whichever rank noticed it.
void append_divergence(const std::string& path, int64_t step, int64_t tokens, double wall_seconds);

class MetricsLog {
 public:
  // Appends to `path`. Lines of steps after `step` are removed first, as is a half-written last
  // line: they belong to work that a resumed run does again.
  MetricsLog(const std::string& path, int64_t step);

  // The last step with an "eval" line that the file held when it was opened; 0: none.
  int64_t last_evaluated() const { return last_evaluated_; }

  void train(const StepMetrics& metrics);
  void eval(int64_t step, double loss, int64_t tokens);
  void final(int64_t step, double loss, int64_t tokens, double wall_seconds);
  // `rank`: whose blocks, or -1 when there is one rank only.
  void blocks(int64_t step, const BlockStatistics& statistics, int rank = -1);
  // The run ends without validation data.
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
