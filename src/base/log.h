// Logging through spdlog: to the standard error stream, and to the run's log.txt once it is known.
// Use spdlog::info, spdlog::warn and spdlog::error directly.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace dashlm {

// Messages go to stderr. `quiet` keeps warnings and errors only.
void init_logging(bool quiet);
// From here on messages name this rank; of ranks other than 0 only warnings and errors are shown.
void log_as_rank(int rank);
// From here on messages are also appended to the file, to which several ranks may write.
void log_to_file(const std::string& path);

}  // namespace dashlm
