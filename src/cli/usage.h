// What the command line says about itself: help, versions, and what is wrong with it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace dashlm {

// `dashlm help [COMMAND...]`.
void add_help_command(CLI::App& app);

// "dashlm 0.1.0 (commit 1234567)" and what it was built of.
std::string version_text();

// Parses, which runs the command. Throws a bad_input Error about a wrong command line, naming the
// nearest command or option. Help and version go to the standard output.
void parse_command_line(CLI::App& app, int argc, char** argv);

// Throws a runtime_failure Error unless all output has reached the standard output.
void require_output_written();

}  // namespace dashlm
