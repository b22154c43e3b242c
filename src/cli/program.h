// The program `dashlm` as a function. A program of your own that registers something first, such as
// an optimizer, then has all commands: examples/own_optimizer.
#pragma once

namespace dashlm {

// Runs the command that the arguments of main() name and returns the exit code of the process;
// errors go to the standard error output. It may start the program again from the beginning of
// main() (restart_with_right_kernels()), so little should come before it.
int run_program(int argc, char** argv);

}  // namespace dashlm
