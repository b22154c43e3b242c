// result.json of a run directory: how its run ended. Scripts that wait for the run read it.
//
//   ended     "running" (also if it was killed), "finished", "stopped" (by a signal) or "diverged"
//   step      the last step that was made; "diverged": the step that failed
//   tokens    tokens trained on so far
//   wall_s    as in metrics.jsonl
//   val_loss  "finished": on the whole validation set, if eval.final asks for it
//   reason    "stopped", "diverged": the cause in words
//   machine   the device with its kernels, and the number of processes
//   parameters, bytes_per_rank  the model's size, and the memory planned for the fullest rank
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dashlm {

// The machine and the size of a run.
struct RunSetting {
  std::string machine;
  int64_t parameters = 0;
  int64_t bytes_per_rank = 0;
};

struct RunResult {
  std::string ended;
  int64_t step = 0;
  int64_t tokens = 0;
  double wall_seconds = 0;
  std::optional<double> val_loss;
  std::string reason;
  RunSetting setting;
};

// Writes result.json into the run directory `folder`, in place of the earlier one.
void write_run_result(const std::string& folder, const RunResult& result);

}  // namespace dashlm
