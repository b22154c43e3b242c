#include "support/process.h"

#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace dashlm::testing {
namespace {

int unlinked_file() {
  char name[] = "/tmp/dashlm-test-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) throw std::runtime_error("no temporary file");
  unlink(name);
  return file;
}

std::string content(int file) {
  std::string text;
  char buffer[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::function<void()>& prepare)
    : output_(unlinked_file()), errors_(unlinked_file()) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    dup2(output_, STDOUT_FILENO);
    dup2(errors_, STDERR_FILENO);
    if (prepare) prepare();
    execv(arguments[0], arguments.data());
    _exit(127);
  }
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
  close(errors_);
}

bool Process::running() {
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == 0;
}

void Process::signal(int number) const {
  kill(pid_, number);
}

ProcessResult Process::wait() {
  int status = 0;
  rusage usage = {};
  wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  ProcessResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = content(output_);
  result.errors = content(errors_);
  result.peak_rss = usage.ru_maxrss * 1024;
  return result;
}

ProcessResult run(const std::vector<std::string>& command, const std::function<void()>& prepare) {
  return Process(command, prepare).wait();
}

std::string run_on_terminal(const std::vector<std::string>& command, int columns,
                            const std::function<void()>& prepare) {
  int screen = -1, terminal = -1;
  const winsize size = {24, static_cast<unsigned short>(columns), 0, 0};
  if (openpty(&screen, &terminal, nullptr, nullptr, &size) != 0) {
    throw std::runtime_error("no pseudo-terminal");
  }
  Process process(command, [&] {
    dup2(terminal, STDERR_FILENO);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    if (prepare) prepare();
  });
  close(terminal);
  std::string shown;
  char buffer[4096];
  for (ssize_t n;
       (n = read(screen, buffer, sizeof buffer)) > 0;) {  // an error once all have closed
    shown.append(buffer, static_cast<size_t>(n));
  }
  close(screen);
  if (process.wait().exit_code != 0) throw std::runtime_error("failed:\n" + shown);
  return shown;
}

}  // namespace dashlm::testing
