// SIGINT, SIGTERM, SIGUSR1 and SIGHUP as a flag that the training loop reads between steps;
// SIGPIPE.
#pragma once

namespace dashlm {

// From here on the first of these signals only sets the flag; a second one ends the
// process at once, as does any other signal. As one of several ranks: without a message, and
// further signals change nothing, since launchers tend to send more than one.
void catch_stop_signals(bool as_rank = false);
// From here on the process goes on when what reads its messages ends, as in `... | head`: a write
// fails then, instead of ending the process by SIGPIPE.
void ignore_broken_pipes();
// The signal that asked the process to stop, or 0.
int stop_signal();

}  // namespace dashlm
