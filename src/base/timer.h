// Wall-clock time from a monotonic clock.
#pragma once

#include <chrono>

namespace dashlm {

class Timer {
 public:
  Timer() : start_(Clock::now()) {}
  void restart() { start_ = Clock::now(); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double milliseconds() const { return 1e3 * seconds(); }
  // From the start of an earlier timer to the start of this one.
  double milliseconds_since(const Timer& earlier) const {
    return std::chrono::duration<double, std::milli>(start_ - earlier.start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

}  // namespace dashlm
