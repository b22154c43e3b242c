// The reports of the trainer: about the run at its start, about each step, and about its end.
#include <algorithm>
#include <string>

#include "base/log.h"
#include "config/config.h"
#include "ops/core/cpu_kernels.h"
#include "train/thread_use.h"
#include "train/trainer.h"

namespace dashlm {
namespace {

int64_t largest_of_ranks(Communicator& communicator, int64_t value) {
  for (const std::string& other : communicator.exchange(std::to_string(value))) {
    value = std::max<int64_t>(value, std::stoll(other));
  }
  return value;
}

}  // namespace

void Trainer::describe_run() {
  const std::string device =
      fmt::format("{}; {}", engine_.device().description(), communicator_.description());
  const CpuKernels kernels = cpu_kernels();
  spdlog::info("{}", device);
  spdlog::info("CPU kernels: {}", kernels.text());
  if (!kernels.warning.empty() && communicator_.local_place().rank == 0) {
    spdlog::warn("{}", kernels.warning);
  }
  warn_of_crowded_threads(communicator_, engine_.device());
  const StepPlan& plan = engine_.plan();
  setting_ = {fmt::format("{}; {}", device, kernels.text()), engine_.layout().elements(),
              largest_of_ranks(communicator_, plan.memory.total())};
  spdlog::info("{} parameters, {:.1f} MiB, {:.2f} GFLOP a step{}", engine_.layout().elements(),
               static_cast<double>(plan.memory.total()) / (1 << 20), plan.flops / 1e9,
               communicator_.size() > 1 ? " (of this rank)" : "");
  spdlog::info(
      "{} training tokens in {} sequences of {}{}", train_tokens_.size(), order_.sequences(),
      config_.model.seq_len,
      order_.unused() > 0 ? fmt::format("; the last {} are not used", order_.unused()) : "");
  for (const std::string& warning : config_.warnings()) {
    if (leads()) spdlog::warn("{}", warning);
  }
  if (leads() && communicator_.size() > config_.train.batch) {
    spdlog::warn("a step has {} sequences: {} of the {} ranks have none to compute",
                 config_.train.batch, communicator_.size() - config_.train.batch,
                 communicator_.size());
  }
}

void Trainer::report(const StepMetrics& metrics) {
  if (!leads()) return;
  metrics_->train(metrics);
  progress_->step(metrics);
}

// Every rank knows only its own blocks.
void Trainer::report_statistics() {
  Json mine = Json::array();
  for (const BlockStatistics& group : engine_.optimizer_statistics()) {
    mine.push_back({group.group, group.values});
  }
  const std::vector<std::string> all = communicator_.exchange(mine.dump());
  for (int rank = 0; leads() && rank < communicator_.size(); ++rank) {
    for (const Json& group : Json::parse(all[static_cast<size_t>(rank)])) {
      metrics_->blocks(state_.step, {group[0], group[1]}, communicator_.size() > 1 ? rank : -1);
    }
  }
}

void Trainer::note_end(const std::string& ended, const std::string& reason,
                       std::optional<double> val_loss) {
  write_run_result(config_.out, {ended, state_.step, state_.tokens, seconds_so_far(), val_loss,
                                 reason, setting_});
}

// If all ranks diverge together, the first rank writes. If one rank sees a block of its own fail,
// it writes, since the others are about to be ended.
void Trainer::note_divergence(const std::string& reason) {
  if (!leads() && diverged_together_) return;
  const int64_t step = std::min(state_.step + 1, config_.train.steps);
  write_run_result(config_.out, {"diverged", step, state_.tokens, seconds_so_far(), std::nullopt,
                                 reason, setting_});
  if (state_.step == config_.train.steps) return;  // the final line is there, without a loss
  append_divergence(config_.out + "/metrics.jsonl", step, state_.tokens, seconds_so_far());
}

}  // namespace dashlm
