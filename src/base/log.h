// Logging through spdlog: to the standard error stream, and to the run's log.txt once it is known.
// Use spdlog::info, spdlog::warn and spdlog::error directly.
//
// On a terminal a status line can stand below the messages, as a progress bar does.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace dashlm {

// Messages go to stderr, in colours where the terminal has them and NO_COLOR is not set. `quiet`
// keeps warnings and errors only there; files get everything.
void init_logging(bool quiet);
// From here on messages name this rank; of ranks other than 0 only warnings and errors are shown.
void log_as_rank(int rank);
// Messages are also appended to the file, to which several ranks may write: those from here on, and
// those before. They begin on a line of their own, even where a process that was killed left half a
// line.
void log_to_file(const std::string& path);
// A message for the files only.
void log_in_files(const std::string& message);

// Whether stderr has room for a status line: a terminal that can redraw a line, and not `quiet`.
bool has_status_line();
// Shows `text`, which is to be shorter than the terminal is wide, in place of the text before. The
// next message erases it. "" erases it at once.
void show_status_line(const std::string& text);

}  // namespace dashlm
