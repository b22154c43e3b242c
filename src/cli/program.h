// The program `dashlm` as a function. A program of your own that registers something first, such as
// an optimizer, then has all commands: examples/own_optimizer.
#pragma once

namespace dashlm {

// Runs the command that the arguments of main() name and returns the exit code of the process;
// errors go to the standard error output. To be called first in main(), once: it may start the
// program again (restart_with_right_kernels()).
int run_program(int argc, char** argv);

}  // namespace dashlm
