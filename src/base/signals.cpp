#include "base/signals.h"

#include <unistd.h>

#include <csignal>

namespace dashlm {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

volatile std::sig_atomic_t pending_signal = 0;
volatile std::sig_atomic_t one_of_several = 0;

void on_signal(int signal) {
  pending_signal = signal;
  if (one_of_several) return;
  // Back to the default for all, so that a second signal of any kind ends a process that is stuck.
  for (const int each : kSignals) std::signal(each, SIG_DFL);
  // Only write() may be called here.
  static const char message[] = "\nstopping after this step; a second signal ends it at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
}

}  // namespace

void catch_stop_signals(bool as_rank) {
  pending_signal = 0;
  one_of_several = as_rank;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int each : kSignals) {
    struct sigaction before = {};
    sigaction(each, nullptr, &before);
    if (each == SIGHUP && before.sa_handler == SIG_IGN) continue;  // started by nohup
    sigaction(each, &action, nullptr);
  }
}

void ignore_broken_pipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signal() {
  return pending_signal;
}

}  // namespace dashlm
