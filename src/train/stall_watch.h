// Ends a job of several ranks that has stopped getting anywhere: a rank was stopped, or hangs in a
// file system or a driver, and the others would wait for its messages for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "dist/communicator.h"

namespace dashlm {

// When waiting has lasted too long: for more than `seconds`, and for more than ten times the
// longest wait that was followed by progress, so that no step is cut off that is slow by nature.
class Patience {
 public:
  explicit Patience(double seconds) : limit_(seconds) {}

  // So much time has gone by without progress. True once it is too much.
  bool wait(double seconds);
  void progress();
  double waited() const { return waited_; }

 private:
  double limit_, waited_ = 0;
};

// A thread that loses its patience with the training loop. Time in which this process itself was
// stopped does not count.
class StallWatch {
 public:
  // It does nothing when `minutes` is 0 or there is one rank.
  StallWatch(Communicator& communicator, double minutes);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // From here on progress is expected.
  void start();
  // What the loop does now: "the passes", of this step.
  void enter(const char* phase, int64_t step);
  // A step, a batch of validation data or a checkpoint is done.
  void progress();
  // The step of the newest checkpoint.
  void saved(int64_t step);

 private:
  void run();
  [[noreturn]] void give_up();
  std::string message() const;

  Communicator& communicator_;
  const double minutes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  Patience patience_;
  const char* phase_ = "the start";
  int64_t step_ = 0, saved_ = -1;
  std::thread thread_;
};

}  // namespace dashlm
