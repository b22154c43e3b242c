#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/timer.h"

namespace dashlm {
namespace fs = std::filesystem;

Trainer::Trainer(Device& device, const RunConfig& config, bool resume)
    : config_(config),
      train_tokens_(config.data.train, config.model.vocab_size),
      order_(train_tokens_.size(), config.model.seq_len, static_cast<uint64_t>(config.data.seed)),
      engine_(device, config_),
      store_(config.out + "/checkpoints", config.checkpoint.keep) {
  require(!config.out.empty(),
          "where should the run go? Set \"out\" in the config or pass --out DIRECTORY");
  require(resume || !fs::exists(config.out + "/config.json"),
          "'{}' already holds a run; continue it with --resume, or choose another --out",
          config.out);
  if (!config.data.val.empty()) {
    val_tokens_ = std::make_unique<TokenStream>(config.data.val, config.model.vocab_size);
  }
  state_.data_fingerprint = train_tokens_.fingerprint();
  engine_.allocate();
  open_run_directory();
  start(resume);
}

void Trainer::open_run_directory() {
  std::error_code error;
  fs::create_directories(config_.out, error);
  if (error) fail_runtime("cannot create the run directory '{}': {}", config_.out, error.message());
  lock_ = std::make_unique<DirectoryLock>(config_.out);
  log_to_file(config_.out + "/log.txt");
}

void Trainer::start(bool resume) {
  const std::string folder = resume ? store_.newest_sound() : "";
  require(
      !folder.empty() || !resume || store_.steps().empty(),
      "every checkpoint in '{}' is damaged (see the warnings above); restore one from elsewhere, "
      "or start again with another --out",
      config_.out);
  if (!folder.empty()) {
    state_ = restore_checkpoint(folder, engine_, config_, state_.data_fingerprint);
    saved_step_ = state_.step;
    spdlog::info("resuming after step {} from {}", state_.step, folder);
  } else {
    if (resume)
      spdlog::info("'{}' holds no checkpoint yet: starting from the beginning", config_.out);
    engine_.initialize();
  }
  write_text_file(config_.out + "/config.json", run_config_text(config_));
  metrics_ = std::make_unique<MetricsLog>(config_.out + "/metrics.jsonl", state_.step);
  progress_ =
      std::make_unique<Progress>(state_.step + 1, config_.train.steps, config_.train.log_every);

  const MemoryPlan& plan = engine_.memory_plan();
  spdlog::info("{} parameters, {:.1f} MiB, {:.2f} GFLOP a step", engine_.layout().elements(),
               static_cast<double>(plan.total()) / (1 << 20), plan.step_flops / 1e9);
  spdlog::info("{} training tokens in {} sequences of {}", train_tokens_.size(), order_.sequences(),
               config_.model.seq_len);
}

int Trainer::run() {
  catch_stop_signals();
  BatchLoader loader(train_tokens_, order_, config_.train.batch, state_.position,
                     config_.data.prefetch);
  while (state_.step < config_.train.steps) {
    train_step(loader);
    if (due(config_.eval.every) && state_.step < config_.train.steps) validate_during_training();
    if (due(config_.checkpoint.every)) save();
    if (const int signal = stop_signal()) {
      save();
      progress_->clear();
      spdlog::warn("stopped by signal {} after step {}; --resume continues", signal, state_.step);
      return 128 + signal;
    }
  }
  finish();
  return 0;
}

void Trainer::train_step(BatchLoader& loader) {
  const Timer timer;
  const Batch batch = loader.next();
  const double data_ms = timer.milliseconds();

  const double loss = engine_.forward_backward(batch);
  const double norm = engine_.gradient_norm();
  const double forward_backward_ms = timer.milliseconds() - data_ms;

  const double lr = config_.train.lr * config_.train.schedule.at(state_.step, config_.train.steps);
  const bool accepted = accept(loss, norm);
  if (accepted) {
    const double clip = config_.train.grad_clip;
    const double scale = clip > 0 && norm > clip ? clip / norm : 1.0;
    engine_.update({.update = ++state_.updates, .lr = lr, .gradient_scale = scale});
  }
  ++state_.step;
  state_.position = batch.next;
  state_.tokens += batch.sequences * batch.seq_len;

  const double step_ms = timer.milliseconds();
  state_.seconds += step_ms / 1e3;
  const StepMetrics metrics{
      .step = state_.step,
      .tokens = state_.tokens,
      .loss = loss,
      .lr = lr,
      .grad_norm = norm,
      .skipped = !accepted,
      .step_ms = step_ms,
      .data_ms = data_ms,
      .forward_backward_ms = forward_backward_ms,
      .optimizer_ms = step_ms - data_ms - forward_backward_ms,
      .tokens_per_s = 1e3 * static_cast<double>(batch.sequences * batch.seq_len) / step_ms,
      .optimizer = accepted ? engine_.optimizer().times() : UpdateTimes{}};
  metrics_->train(metrics);
  if (accepted && engine_.optimizer().statistics_due(state_.updates)) {
    for (const BlockStatistics& group : engine_.optimizer_statistics()) {
      metrics_->blocks(state_.step, group);
    }
  }
  progress_->step(metrics);
}

bool Trainer::accept(double loss, double norm) {
  if (std::isfinite(loss) && std::isfinite(norm)) {
    state_.skipped_in_a_row = 0;
    return true;
  }
  ++state_.skipped;
  ++state_.skipped_in_a_row;
  progress_->clear();
  spdlog::warn("step {} skipped: loss {}, gradient norm {}", state_.step + 1, loss, norm);
  if (state_.skipped_in_a_row > config_.train.max_skipped_steps) {
    throw Error(ExitCode::diverged,
                fmt::format("diverged: {} steps in a row had a non-finite loss or gradient; lower "
                            "train.lr or resume from an earlier checkpoint",
                            state_.skipped_in_a_row));
  }
  return false;
}

LossSum Trainer::validate(int64_t batches) {
  const SequentialBatches validation(*val_tokens_, config_.model.seq_len,
                                     config_.train.micro_batch);
  LossSum loss;
  for (int64_t i = 0; i < std::min(batches, validation.batches()); ++i) {
    loss += engine_.evaluate(validation.at(i));
  }
  return loss;
}

void Trainer::validate_during_training() {
  if (!val_tokens_) return;
  const int64_t batches =
      config_.eval.batches > 0 ? config_.eval.batches : std::numeric_limits<int64_t>::max();
  const double loss = validate(batches).mean();
  metrics_->eval(state_.step, loss, state_.tokens);
  progress_->clear();
  spdlog::info("step {}: validation loss {:.4f}, perplexity {:.2f}", state_.step, loss,
               std::exp(loss));
}

void Trainer::finish() {
  save();
  progress_->clear();
  if (val_tokens_ && config_.eval.final) {
    const double loss = validate(std::numeric_limits<int64_t>::max()).mean();
    metrics_->final(state_.step, loss, state_.tokens, state_.seconds);
    spdlog::info("done: {} steps, {} tokens in {:.1f} s; validation loss {:.4f}, perplexity {:.2f}",
                 state_.step, state_.tokens, state_.seconds, loss, std::exp(loss));
    if (!std::isfinite(loss)) {
      throw Error(ExitCode::diverged, "diverged: the final validation loss is not finite");
    }
  } else {
    metrics_->final(state_.step, state_.tokens, state_.seconds);
    spdlog::info("done: {} steps, {} tokens in {:.1f} s", state_.step, state_.tokens,
                 state_.seconds);
  }
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  progress_->clear();
  const std::string folder = save_checkpoint(store_, engine_, config_, state_);
  saved_step_ = state_.step;
  spdlog::info("checkpoint {}", folder);
}

}  // namespace dashlm
