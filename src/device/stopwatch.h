// Measures how long a device works on each phase of a task, without waiting for it.
#pragma once

#include <exception>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace dashlm {

class Stopwatch {
 public:
  // Counts the work that the device is given while this object exists. Profilers show the phase as
  // a range of this name. A phase may come any number of times. The name must outlive the
  // stopwatch.
  class Phase {
   public:
    Phase(Stopwatch& stopwatch, Device& device, const char* name)
        : stopwatch_(stopwatch),
          device_(device),
          name_(name),
          range_(device, name),
          begin_(device.mark()) {}
    // A device that has failed fails here as well. The next call of the device reports it.
    ~Phase() {
      try {
        stopwatch_.intervals_.push_back({name_, begin_, device_.mark()});
      } catch (const std::exception&) {
      }
    }
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

   private:
    Stopwatch& stopwatch_;
    Device& device_;
    const char* name_;
    DeviceRange range_;
    TimeMark begin_;
  };

  // Forgets all phases.
  void restart() { intervals_.clear(); }

  // The sum of all times of the phase `name`; 0 if there was none. Waits until the device is
  // through with them.
  double milliseconds(std::string_view name) const {
    double sum = 0;
    for (const Interval& interval : intervals_) {
      if (interval.name == name) sum += interval.end.milliseconds_since(interval.begin);
    }
    return sum;
  }

 private:
  struct Interval {
    std::string_view name;
    TimeMark begin, end;
  };
  std::vector<Interval> intervals_;
};

}  // namespace dashlm
