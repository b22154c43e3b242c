// The progress of a run for people. The log gets a line every so many steps. A terminal shows one
// line with a bar instead, which is kept up to date.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/timer.h"
#include "train/metrics.h"

namespace dashlm {

// A figure of a progress line. If the line is too narrow, figures of the highest `rank` are left
// out first.
struct ProgressPart {
  std::string text;
  int rank = 0;
};

// Makes the line "[####....] first second third" of less than `columns` characters. `done`, from 0
// to 1, is the filled part of the bar. The bar takes the room that is left. Parts of a rank above
// kBarRank make room for it, others do not.
inline constexpr int kBarRank = 4;
std::string progress_bar_line(std::vector<ProgressPart> parts, double done, int columns);

class Progress {
 public:
  // Steps `first` to `last` are ahead. A line is logged every `every` steps.
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
