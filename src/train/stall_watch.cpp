#include "train/stall_watch.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/timer.h"

namespace dashlm {
namespace {

constexpr double kTimesTheLongest = 10;
constexpr double kBetweenLooks = 1;  // s
constexpr double kForTheOthers = 2;  // s in which all waiting ranks can log their message

std::chrono::duration<double> seconds_of(double seconds) {
  return std::chrono::duration<double>(seconds);
}

}  // namespace

bool Patience::wait(double seconds) {
  waited_ += seconds;
  return waited_ > limit_;
}

void Patience::progress() {
  limit_ = std::max(limit_, kTimesTheLongest * waited_);
  waited_ = 0;
}

StallWatch::StallWatch(Communicator& communicator, double minutes)
    : communicator_(communicator), minutes_(minutes), patience_(60 * minutes) {}

StallWatch::~StallWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StallWatch::start() {
  if (minutes_ > 0 && communicator_.size() > 1) thread_ = std::thread([this] { run(); });
}

void StallWatch::enter(const char* phase, int64_t step) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  step_ = step;
}

void StallWatch::progress() {
  const std::lock_guard lock(mutex_);
  patience_.progress();
}

void StallWatch::saved(int64_t step) {
  const std::lock_guard lock(mutex_);
  saved_ = step;
  patience_.progress();
}

// A look that comes much too late means that this process itself was stopped, perhaps with all
// others: a queue suspended the job, or the machine slept.
void StallWatch::run() {
  std::unique_lock lock(mutex_);
  for (Timer since_look; !stop_; since_look.restart()) {
    changed_.wait_for(lock, seconds_of(kBetweenLooks), [this] { return stop_; });
    if (!stop_ && patience_.wait(std::min(since_look.seconds(), 2 * kBetweenLooks))) give_up();
  }
}

std::string StallWatch::message() const {
  const std::string stopped = communicator_.stopped_ranks();
  const std::string missing =
      stopped.empty() ? "a rank that does not say so itself is the one to look at" : stopped;
  const std::string checkpoint =
      saved_ < 0 ? "there is no checkpoint yet"
                 : fmt::format(
                       "the checkpoint of step {} is the newest, as none can be written "
                       "while a rank is missing; --resume goes on from it",
                       saved_);
  return fmt::format(
      "no progress for {:.3g} minutes (train.stall_minutes = {:.3g}): this rank waits in {} of "
      "step "
      "{}; {}; {}",
      patience_.waited() / 60, minutes_, phase_, step_, missing, checkpoint);
}

void StallWatch::give_up() {
  spdlog::error("{}", message());
  std::this_thread::sleep_for(seconds_of(kForTheOthers));
  communicator_.abort(ExitCode::runtime_failure);
}

}  // namespace dashlm
