// Runs programs, as a user would, and collects what they print.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace dashlm::testing {

struct ProcessResult {
  int exit_code = -1;    // of a program that ended by itself, else 128 + signal
  std::string output;    // standard output
  std::string errors;    // standard error
  int64_t peak_rss = 0;  // bytes
};

// A running program; its output goes to temporary files.
class Process {
 public:
  // `prepare` runs in the child before the program starts, to set limits for example.
  explicit Process(const std::vector<std::string>& command,
                   const std::function<void()>& prepare = {});
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();  // false once it has ended
  void signal(int number) const;
  ProcessResult wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1, errors_ = -1;  // unlinked temporary files
};

ProcessResult run(const std::vector<std::string>& command,
                  const std::function<void()>& prepare = {});

// What a program writes to its standard error when that is a terminal `columns` wide. It must end
// by itself with exit code 0.
std::string run_on_terminal(const std::vector<std::string>& command, int columns,
                            const std::function<void()>& prepare = {});

}  // namespace dashlm::testing
