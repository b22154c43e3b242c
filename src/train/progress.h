// What a person sees while a run goes on: one line that is kept up to date on a terminal, plain
// lines every so many steps elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/timer.h"
#include "train/metrics.h"

namespace dashlm {

class Progress {
 public:
  // Steps `first` to `last` are ahead; `every` applies to plain lines.
  Progress(int64_t first, int64_t last, int64_t every);
  ~Progress() { clear(); }

  void step(const StepMetrics& metrics);
  // Removes the line, so that something else can be printed.
  void clear();

 private:
  std::string line(const StepMetrics& metrics) const;

  int64_t first_, last_, every_;
  bool terminal_;
  bool shown_ = false;
  Timer timer_;
  double last_drawn_ = -1;
};

}  // namespace dashlm
