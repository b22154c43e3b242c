#include "base/signals.h"

#include <unistd.h>

#include <csignal>

namespace dashlm {
namespace {

volatile std::sig_atomic_t pending_signal = 0;

void on_signal(int signal) {
  pending_signal = signal;
  // Back to the default for both, so that a second signal of either kind ends a process that is
  // stuck.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  // Only write() may be called here.
  static const char message[] = "\nstopping after this step; a second signal ends it at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
}

}  // namespace

void catch_stop_signals() {
  pending_signal = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stop_signal() {
  return pending_signal;
}

}  // namespace dashlm
