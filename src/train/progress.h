// What a person sees while a run goes on: a line every so many steps, in the log; on a terminal, in
// its place, one line with a bar that is kept up to date, while log.txt gets the lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/timer.h"
#include "train/metrics.h"

namespace dashlm {

// A figure of a progress line. Where a line is too narrow, those of the highest `rank` go first.
struct ProgressPart {
  std::string text;
  int rank = 0;
};

// "[####....] first  second  third", of less than `columns` characters; `done` is the filled part
// of the bar, from 0 to 1. The bar takes what room there is; parts of a rank above kBarRank make
// room for it, others do not.
inline constexpr int kBarRank = 4;
std::string progress_bar_line(std::vector<ProgressPart> parts, double done, int columns);

class Progress {
 public:
  // Steps `first` to `last` are ahead; a line is logged every `every` steps.
  Progress(int64_t first, int64_t last, int64_t every);
  ~Progress();

  void step(const StepMetrics& metrics);

 private:
  std::vector<ProgressPart> parts(const StepMetrics& metrics) const;

  int64_t first_, last_, every_;
  bool bar_;
  Timer timer_;
  double last_drawn_ = -1;
};

}  // namespace dashlm
