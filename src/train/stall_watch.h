// Ends a job of several ranks that makes no progress. If a rank is stopped, or hangs in a file
// system or a driver, the others would wait for its messages for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "dist/communicator.h"

namespace dashlm {

// Decides when waiting has lasted too long: longer than `seconds`, and longer than ten times the
// longest wait that was followed by progress. So a step that is slow by nature is not cut off.
class Patience {
 public:
  explicit Patience(double seconds) : limit_(seconds) {}

  // Adds `seconds` without progress. Returns true once the wait is too long.
  bool wait(double seconds);
  void progress();
  double waited() const { return waited_; }

 private:
  double limit_, waited_ = 0;
};

// A thread that watches the training loop and ends the job. Time in which this process itself was
// stopped does not count.
class StallWatch {
 public:
  // Does nothing if `minutes` is 0 or there is one rank.
  StallWatch(Communicator& communicator, double minutes);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // From here on progress is expected.
  void start();
  // Tells the present phase of the loop, such as "the passes", and its step.
  void enter(const char* phase, int64_t step);
  // Tells that a step, a validation batch or a checkpoint is done.
  void progress();
  // Tells the step of the newest checkpoint.
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
