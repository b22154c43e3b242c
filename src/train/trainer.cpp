#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/timer.h"
#include "config/config.h"
#include "dist/launch.h"
#include "train/agreement.h"
#include "train/run_tokenizer.h"
#include "train/thread_use.h"
#include "train/validation.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

void create_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_runtime("cannot create directory '{}': {}", path, error.message());
}

// Ranks may have the same data in different places. Checksums compare it.
Json config_without_data(RunConfig config) {
  config.data.train = config.data.val = {};
  config.data.tokenizer = "";
  return parse_json(run_config_text(config), "config");
}

void require_finite(double final_loss) {
  if (std::isfinite(final_loss)) return;
  throw Error(ExitCode::diverged, "diverged: the final validation loss is not finite");
}

}  // namespace

Trainer::Trainer(Device& device, const RunConfig& config, RunStart start,
                 Communicator& communicator)
    : config_(config),
      communicator_(communicator),
      train_tokens_(config.data.train, config.model.vocab_size),
      order_(train_tokens_.size(), config.model.seq_len, static_cast<uint64_t>(config.data.seed)),
      engine_(device, config_, communicator),
      watch_(communicator, config_.train.stall_minutes),
      store_(config.out + "/checkpoints", config.checkpoint.keep) {
  require(!config.out.empty(),
          "where should the run go? Set \"out\" in the config or pass --out DIRECTORY");
  if (!config.data.val.empty()) {
    val_tokens_ = std::make_unique<TokenStream>(config.data.val, config.model.vocab_size);
  }
  check_data();
  state_.data_fingerprint = train_tokens_.fingerprint();
  require_agreement(communicator, {{"config", config_without_data(config_)},
                                   {"checksum of data.train", state_.data_fingerprint},
                                   {"checksum of data.val",
                                    val_tokens_ ? int64_t{val_tokens_->fingerprint()} : 0}});
  engine_.allocate();
  begin(start);
}

void Trainer::check_data() const {
  constexpr int64_t kTrainSample = int64_t{1} << 24;  // reading them takes less than a second
  if (leads()) train_tokens_.check_sample(kTrainSample);
  if (!val_tokens_ || (config_.eval.every == 0 && !config_.eval.final)) return;
  const int64_t size = val_tokens_->size();
  require(
      size >= 2,
      "data.val has {} token, but validation needs at least 2; use more data, or leave data.val "
      "out",
      size);
  const int64_t window = config_.train.batch * config_.model.seq_len;
  const bool all = config_.eval.final || config_.eval.batches > (size - 1) / window;
  const Share share = Share::of(all ? size : config_.eval.batches * window + 1,
                                communicator_.rank(), communicator_.size());
  val_tokens_->check(share.begin, share.size());
}

void Trainer::open_run_directory(RunStart start) {
  require_place_for_run(config_.out, start);
  create_directory(config_.out);
  lock_ = std::make_unique<DirectoryLock>(config_.out);
  result_ = read_final_result(config_.out + "/metrics.jsonl");
}

std::string Trainer::choose_checkpoint() {
  std::string folder;
  if (leads()) {
    folder = store_.newest_sound();
    require(!folder.empty() || store_.steps().empty(),
            "every checkpoint in '{}' is damaged (see the warnings above); restore one from "
            "elsewhere, or start again with another --out",
            config_.out);
  }
  return communicator_.exchange(folder)[0];
}

bool Trainer::nothing_left(const std::string& folder) const {
  if (!result_) return false;
  const int64_t done = folder.empty() ? result_->step : read_checkpoint_state(folder).step;
  const bool complete =
      done == config_.train.steps && done == result_->step && (result_->scored || !scores_at_end());
  require(complete || !folder.empty(),
          "'{}' holds a finished run of {} steps without its checkpoints, so it cannot go on with "
          "train.steps = {}; restore a checkpoint, or choose another --out",
          config_.out, result_->step, config_.train.steps);
  return complete;
}

void Trainer::begin(RunStart start) {
  if (leads()) open_run_directory(start);
  const std::string folder = choose_checkpoint();
  complete_ = communicator_.exchange(leads() && nothing_left(folder) ? "complete" : "")[0] != "";
  if (!complete_) {
    if (leads()) create_directory(config_.out + "/checkpoints");
    require_shared_directory(communicator_, config_.out + "/checkpoints");
  }
  load(folder, start);
  // A run that was refused before this line has no new line in its log.
  if (!complete_) log_to_file(config_.out + "/log.txt");
  if (!complete_) describe_run();
  if (complete_ || !leads()) return;
  write_text_file(config_.out + "/config.json", run_config_text(config_));
  keep_tokenizer(config_);
  tokenizer_ = tokenizer_of_run(config_, train_tokens_);
  metrics_ = std::make_unique<MetricsLog>(config_.out + "/metrics.jsonl", state_.step);
  progress_ =
      std::make_unique<Progress>(state_.step + 1, config_.train.steps, config_.train.log_every);
}

// A finished run is compared with the config too. If it does not fit, it is not complete.
void Trainer::load(const std::string& folder, RunStart start) {
  if (!folder.empty()) {
    state_ = restore_checkpoint(folder, engine_, config_, state_.data_fingerprint);
    saved_step_ = state_.step;
    watch_.saved(state_.step);
    earlier_seconds_ = state_.seconds;
    if (!complete_) spdlog::info("resuming after step {} from {}", state_.step, folder);
  } else if (!complete_) {
    if (start != RunStart::anew) {
      const std::string begun_with = config_.out + "/config.json";
      if (leads() && fs::exists(begun_with)) compare_with_config_of_run(begun_with, config_);
      spdlog::info("'{}' holds no checkpoint yet: starting from the beginning", config_.out);
    }
    engine_.initialize();
  }
}

void Trainer::report_completion() const {
  if (!leads()) return;
  std::string score;
  if (result_->scored) {
    score = fmt::format("; {}", loss_text(result_->val_loss));
  }
  spdlog::info(
      "the run in '{}' is complete: {} steps{}; nothing was changed (a larger train.steps goes on)",
      config_.out, result_->step, score);
  require_finite(result_->val_loss);
}

int Trainer::run() {
  if (complete_) {
    report_completion();
    return 0;
  }
  if (leads()) note_end("running");
  try {
    return train();
  } catch (const Error& error) {
    if (error.code() == ExitCode::diverged) note_divergence(error.what());
    throw;
  }
}

int Trainer::train() {
  if (communicator_.size() == 1) catch_stop_signals();  // several ranks: see run_on_ranks()
  BatchLoader loader(train_tokens_, order_, config_.train.batch, state_.position,
                     config_.data.prefetch, communicator_.rank(), communicator_.size());
  watch_.start();
  if (validation_missing() && !validate_during_training()) return stop();
  while (state_.step < config_.train.steps) {
    train_step(loader);
    if (due(config_.train.compare_ranks_every)) {
      engine_.settle();
      require_same_weights(communicator_, engine_.device(), engine_.layout(), engine_.weights());
    }
    if (validation_due() && !validate_during_training()) return stop();
    if (due(config_.checkpoint.every)) save();
    if (communicator_.size() == 1) stop_asked_ = stop_signal() != 0;
    if (stop_asked_) return stop();
  }
  return finish() ? 0 : stop();
}

int Trainer::stop() {
  save();
  const int signal = stop_signal_of_ranks(communicator_);
  if (leads()) {
    note_end("stopped", fmt::format("by signal {}", signal));
    spdlog::warn("stopped by signal {} after step {}; --resume continues", signal, state_.step);
  }
  return 128 + signal;
}

void Trainer::train_step(BatchLoader& loader) {
  const Timer timer;
  const int64_t sent_before = communicator_.bytes_sent();
  const Batch batch = loader.next();
  const double data_ms = timer.milliseconds();

  watch_.enter("the passes, which need everybody's weights,", state_.step + 1);
  engine_.forward_backward(batch);
  watch_.enter("the sum of everybody's gradients", state_.step + 1);
  const StepSums sums = engine_.reduce(stop_signal() ? 1 : 0);
  stop_asked_ = sums.flags > 0;
  const double reduced_ms = timer.milliseconds();
  const double reduce_ms = engine_.take_communication_ms();

  const double lr = config_.train.rate(state_.step);
  const bool accepted = accept(sums.loss, sums.gradient_norm);
  watch_.enter("the update", state_.step + 1);
  if (accepted) {
    const double clip = config_.train.grad_clip;
    const double scale = clip > 0 && sums.gradient_norm > clip ? clip / sums.gradient_norm : 1.0;
    engine_.update({.update = ++state_.updates, .lr = lr, .gradient_scale = scale});
    engine_.gather();
  }
  ++state_.step;
  state_.position = batch.next;
  state_.tokens += batch.step_targets;

  // Reading the times waits until the device is through with the update. The weights go on
  // travelling.
  const double gather_ms = engine_.take_communication_ms();
  const UpdateTimes update_times = accepted ? engine_.optimizer().times() : UpdateTimes{};
  const double step_ms = timer.milliseconds();
  watch_.progress();
  report({.step = state_.step,
          .tokens = state_.tokens,
          .loss = sums.loss,
          .lr = lr,
          .grad_norm = sums.gradient_norm,
          .skipped = !accepted,
          .step_ms = step_ms,
          .data_ms = data_ms,
          .forward_backward_ms = std::max(0.0, reduced_ms - data_ms - reduce_ms),
          .optimizer_ms = std::max(0.0, step_ms - reduced_ms - gather_ms),
          .communication_ms = reduce_ms + gather_ms,
          .bytes_sent = communicator_.bytes_sent() - sent_before,
          .tokens_per_s = 1e3 * static_cast<double>(batch.step_targets) / step_ms,
          .mfu = engine_.utilisation(step_ms / 1e3),
          .optimizer = update_times});
  if (accepted && engine_.optimizer().statistics_due(state_.updates)) report_statistics();
}

bool Trainer::accept(double loss, double norm) {
  if (std::isfinite(loss) && std::isfinite(norm)) {
    state_.skipped_in_a_row = 0;
    return true;
  }
  ++state_.skipped;
  ++state_.skipped_in_a_row;
  if (leads()) {
    spdlog::warn("step {} skipped: loss {}, gradient norm {}", state_.step + 1, loss, norm);
  }
  if (state_.skipped_in_a_row > config_.train.max_skipped_steps) {
    diverged_together_ = true;
    throw Error(ExitCode::diverged,
                fmt::format("diverged: {} steps in a row had a non-finite loss or gradient; lower "
                            "train.lr or resume from an earlier checkpoint",
                            state_.skipped_in_a_row));
  }
  return false;
}

std::optional<double> Trainer::validate(int64_t batches) {
  const int64_t batch = config_.train.batch;
  const bool all = batches > val_tokens_->size() / batch;  // avoids an overflow of the product
  const SequentialBatches validation(*val_tokens_, config_.model.seq_len, engine_.micro_batch(),
                                     all ? 0 : batches * batch, communicator_.rank(),
                                     communicator_.size());
  watch_.enter("the validation after the end", state_.step);
  const std::optional<LossSum> loss =
      evaluate_all(communicator_, validation, [&](const Batch& part) {
        const LossSum sum = engine_.evaluate(part);
        watch_.progress();
        return sum;
      });
  if (!loss) return std::nullopt;
  return loss->mean();
}

bool Trainer::validation_due() const {
  const bool last = state_.step == config_.train.steps;  // the final validation may follow it
  return val_tokens_ && state_.step > 0 && due(config_.eval.every) && !(last && config_.eval.final);
}

// A validation that was made has a line in metrics.jsonl.
bool Trainer::validation_missing() {
  if (!validation_due()) return false;
  const bool missing = leads() && metrics_->last_evaluated() < state_.step;
  return communicator_.exchange(missing ? "missing" : "")[0] != "";
}

bool Trainer::validate_during_training() {
  const std::optional<double> loss = validate(config_.eval.batches);
  if (!loss) return false;
  if (!leads()) return true;
  metrics_->eval(state_.step, *loss, state_.tokens);
  spdlog::info("step {}: {}", state_.step, loss_text(*loss));
  return true;
}

bool Trainer::finish() {
  save();
  const bool scored = scores_at_end();
  const std::optional<double> mean = scored ? validate(0) : 0.0;
  if (!mean) return false;
  const double loss = *mean;
  if (leads()) {
    const double seconds = seconds_so_far();
    std::string result;
    if (scored) {
      metrics_->final(state_.step, loss, state_.tokens, seconds);
      result = "; " + loss_text(loss);
    } else {
      metrics_->final(state_.step, state_.tokens, seconds);
    }
    spdlog::info("done: {} steps, {} tokens in {:.1f} s{}", state_.step, state_.tokens, seconds,
                 result);
  }
  diverged_together_ = true;  // should the loss not be finite
  require_finite(loss);
  if (leads()) note_end("finished", "", scored ? mean : std::nullopt);
  return true;
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  watch_.enter("the checkpoint after the end", state_.step);
  state_.seconds = seconds_so_far();
  const std::string folder = save_checkpoint(store_, engine_, config_, state_, tokenizer_);
  saved_step_ = state_.step;
  watch_.saved(state_.step);
  spdlog::info("checkpoint {}", folder);
}

}  // namespace dashlm
