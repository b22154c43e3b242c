#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

#include "base/error.h"

namespace dashlm {
namespace {
std::string rank_label;  // before each message; "" for a single process
}

void init_logging(bool quiet) {
  auto logger = std::make_shared<spdlog::logger>(
      "dashlm", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S %^%l%$ %v");
  logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
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
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern("%Y-%m-%d %H:%M:%S %l " + rank_label + "%v");
    spdlog::default_logger()->sinks().push_back(std::move(sink));
  } catch (const spdlog::spdlog_ex& e) {
    fail_runtime("cannot open the log file '{}': {}", path, e.what());
  }
}

}  // namespace dashlm
