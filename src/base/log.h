// Logging through spdlog: to the standard error stream, and to the run's log.txt once it is known.
// Use spdlog::info, spdlog::warn and spdlog::error directly.
//
// On a terminal a status line can stand below the messages, as a progress bar does.
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace dashlm {

// Messages go to stderr, in colours where the terminal has them and NO_COLOR is not set. With
// `quiet` stderr gets warnings and errors only; files get everything.
void init_logging(bool quiet);
// From here on messages name this rank. Ranks other than 0 show only warnings and errors.
void log_as_rank(int rank);
// Appends all messages to the file too, the earlier ones included. Several ranks may write to one
// file. The first message begins a new line, even where a killed process left half a line.
void log_to_file(const std::string& path);
// Writes a message to the files only.
void log_in_files(const std::string& message);

// Whether stderr has room for a status line: a terminal that can redraw a line, and not `quiet`.
bool has_status_line();
// Shows `text` in place of the text before. `text` must be shorter than the terminal is wide. The
// next message erases it. "" erases it at once.
void show_status_line(const std::string& text);

}  // namespace dashlm
