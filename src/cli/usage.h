// Texts about the command line: help, version, and errors.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace dashlm {

// Adds `dashlm help [COMMAND...]`.
void add_help_command(CLI::App& app);

// "dashlm 1.2.3 (commit 1234567)" and the build's libraries.
std::string version_text();

// Parses the command line and thereby runs the command. Throws a bad_input Error about a wrong
// command line, with the nearest command or option. Help and version go to the standard output.
void parse_command_line(CLI::App& app, int argc, char** argv);

// Throws a runtime_failure Error unless all output has reached the standard output.
void require_output_written();

}  // namespace dashlm
