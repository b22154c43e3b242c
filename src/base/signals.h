// SIGINT and SIGTERM as a flag that the training loop reads between steps.
#pragma once

namespace dashlm {

// From here on the first SIGINT or SIGTERM only sets the flag; a second one ends the process at
// once, as does any other signal.
void catch_stop_signals();
// The signal that asked the process to stop, or 0.
int stop_signal();

}  // namespace dashlm
