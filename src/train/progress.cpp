#include "train/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/log.h"

namespace dashlm {
namespace {

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s >= 3600) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}m{:02}s", s / 60, s % 60);
}

std::string bar(int64_t done, int64_t all) {
  constexpr int64_t kWidth = 20;
  const auto filled = static_cast<size_t>(kWidth * done / std::max<int64_t>(1, all));
  return std::string(filled, '#') + std::string(kWidth - filled, '.');
}

}  // namespace

Progress::Progress(int64_t first, int64_t last, int64_t every)
    : first_(first), last_(last), every_(every), terminal_(isatty(STDERR_FILENO) == 1) {}

std::string Progress::line(const StepMetrics& m) const {
  const double per_step = timer_.seconds() / static_cast<double>(m.step - first_ + 1);
  const std::string mfu = m.mfu > 0 ? fmt::format("  MFU {:.1f}%", 100 * m.mfu) : "";
  return fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}  norm {:.3f}  {:.0f} tokens/s{}  ETA {}",
                     m.step, last_, m.loss, m.lr, m.grad_norm, m.tokens_per_s, mfu,
                     duration(per_step * static_cast<double>(last_ - m.step)));
}

void Progress::step(const StepMetrics& m) {
  const bool last = m.step == last_;
  if (!terminal_) {
    if (m.step == first_ || last || m.step % every_ == 0) spdlog::info("{}", line(m));
    return;
  }
  // Ten times a second is as much as an eye can use.
  if (!last && timer_.seconds() - last_drawn_ < 0.1) return;
  last_drawn_ = timer_.seconds();
  fmt::print(stderr, "\r\x1b[K[{}] {}", bar(m.step, last_), line(m));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace dashlm
