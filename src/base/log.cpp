#include "base/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/terminal.h"

namespace dashlm {
namespace {

// stderr with a status line at its end. A message erases the line.
class TerminalSink final : public spdlog::sinks::ansicolor_stderr_sink_mt {
  using Base = spdlog::sinks::ansicolor_stderr_sink_mt;

 public:
  explicit TerminalSink(bool quiet)
      : Base(wants_color(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never),
        has_status_(can_redraw(STDERR_FILENO) && !quiet) {
    set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  }
  ~TerminalSink() override { show_status(""); }

  bool has_status() const { return has_status_; }

  void show_status(const std::string& text) {
    const std::scoped_lock lock(status_mutex_);
    if (!has_status_ || (text.empty() && !shown_)) return;
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    shown_ = !text.empty();
  }

  void log(const spdlog::details::log_msg& message) override {
    show_status("");
    Base::log(message);
  }

 private:
  const bool has_status_;
  std::mutex status_mutex_;
  bool shown_ = false;
};

std::shared_ptr<TerminalSink> terminal;
std::string rank_label;  // before each message; "" for a single process
// Messages from the time before the log file is known.
std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> held;
constexpr size_t kMostHeld = 1000;

// Whether a killed process or a full disk has left half a line.
bool ends_within_a_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

}  // namespace

void init_logging(bool quiet) {
  terminal = std::make_shared<TerminalSink>(quiet);
  held = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kMostHeld);
  auto logger = std::make_shared<spdlog::logger>("dashlm", spdlog::sinks_init_list{terminal, held});
  logger->set_pattern("%H:%M:%S %^%l%$ %v");
  logger->set_level(spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void log_as_rank(int rank) {
  rank_label = fmt::format("[rank {}] ", rank);
  spdlog::default_logger()->set_pattern("%H:%M:%S %^%l%$ " + rank_label + "%v");
  if (rank != 0) spdlog::set_level(spdlog::level::warn);
}

void log_to_file(const std::string& path) {
  try {
    const bool half_line = ends_within_a_line(path);
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    if (half_line) std::ofstream(path, std::ios::app) << "\n";
    sink->set_pattern("%Y-%m-%d %H:%M:%S %l " + rank_label + "%v");
    if (held) {
      for (const auto& message : held->last_raw()) sink->log(message);
      sink->flush();
      std::erase(spdlog::default_logger()->sinks(), spdlog::sink_ptr(held));
      held.reset();
    }
    spdlog::default_logger()->sinks().push_back(std::move(sink));
  } catch (const spdlog::spdlog_ex& e) {
    fail_runtime("cannot open the log file '{}': {}", path, e.what());
  }
}

void log_in_files(const std::string& message) {
  const auto& sinks = spdlog::default_logger()->sinks();
  if (sinks.size() < 2) return;
  spdlog::logger files("dashlm", sinks.begin() + 1, sinks.end());  // the first is stderr's
  files.info("{}", message);
  files.flush();
}

bool has_status_line() {
  return terminal && terminal->has_status();
}

void show_status_line(const std::string& text) {
  if (terminal) terminal->show_status(text);
}

}  // namespace dashlm
