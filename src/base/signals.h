// Signals: SIGINT, SIGTERM, SIGUSR1 and SIGHUP become a flag that the training loop reads between
// steps. SIGPIPE can be ignored.
#pragma once

namespace dashlm {

// From here on the first of these signals only sets the flag. A second one ends the process at
// once, as does any other signal. With `as_rank` nothing is printed, and further signals change
// nothing, since launchers tend to send more than one.
void catch_stop_signals(bool as_rank = false);
// From here on the process goes on when the reader of its messages ends, as in `... | head`. A
// write then fails, instead of ending the process by SIGPIPE.
void ignore_broken_pipes();
// The signal that asked the process to stop; 0 if none has.
int stop_signal();

}  // namespace dashlm
