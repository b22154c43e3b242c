#include "train/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/terminal.h"

namespace dashlm {
namespace {

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s >= 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}m{:02}s", s / 60, s % 60);
}

std::string joined(const std::vector<ProgressPart>& parts) {
  std::string line;
  for (const ProgressPart& part : parts) line += (line.empty() ? "" : "  ") + part.text;
  return line;
}

}  // namespace

std::string progress_bar_line(std::vector<ProgressPart> parts, double done, int columns) {
  constexpr int kNarrowest = 5, kWidest = 20;
  constexpr size_t kBrackets = 3;  // and a space
  // A character in the last column would make some terminals begin a new line.
  const size_t room = static_cast<size_t>(std::max(1, columns) - 1);
  while (parts.size() > 1) {
    const auto least = std::max_element(
        parts.begin(), parts.end(),
        [](const ProgressPart& a, const ProgressPart& b) { return a.rank < b.rank; });
    const size_t bar = least->rank > kBarRank ? kNarrowest + kBrackets : 0;
    if (joined(parts).size() + bar <= room) break;
    parts.erase(least);
  }
  const std::string text = joined(parts).substr(0, room);
  const int width =
      std::min(static_cast<int>(room - text.size()) - static_cast<int>(kBrackets), kWidest);
  if (width < kNarrowest) return text;
  const auto filled = static_cast<size_t>(std::clamp(done, 0.0, 1.0) * width);
  return fmt::format("[{}{}] {}", std::string(filled, '#'),
                     std::string(static_cast<size_t>(width) - filled, '.'), text);
}

Progress::Progress(int64_t first, int64_t last, int64_t every)
    : first_(first), last_(last), every_(every), bar_(has_status_line()) {}

Progress::~Progress() {
  show_status_line("");
}

std::vector<ProgressPart> Progress::parts(const StepMetrics& m) const {
  const double per_step = timer_.seconds() / static_cast<double>(m.step - first_ + 1);
  std::vector<ProgressPart> all = {{fmt::format("step {}/{}", m.step, last_), 0},
                                   {fmt::format("loss {:.4f}", m.loss), 1},
                                   {fmt::format("lr {:.2e}", m.lr), 5},
                                   {fmt::format("norm {:.3f}", m.grad_norm), 6},
                                   {fmt::format("{:.0f} tokens/s", m.tokens_per_s), 3}};
  if (m.mfu > 0) all.push_back({fmt::format("MFU {:.1f}%", 100 * m.mfu), 4});
  const double left = per_step * static_cast<double>(last_ - m.step);
  all.push_back({fmt::format("ETA {}", duration(left)), 2});
  return all;
}

void Progress::step(const StepMetrics& m) {
  const bool last = m.step == last_;
  if (m.step == first_ || last || m.step % every_ == 0) {
    if (bar_) {
      log_in_files(joined(parts(m)));
    } else {
      spdlog::info("{}", joined(parts(m)));
    }
  }
  // An eye can use ten updates a second.
  if (!bar_ || (!last && timer_.seconds() - last_drawn_ < 0.1)) return;
  last_drawn_ = timer_.seconds();
  const double done = static_cast<double>(m.step) / static_cast<double>(last_);
  show_status_line(progress_bar_line(parts(m), done, columns_of(STDERR_FILENO)));
}

}  // namespace dashlm
