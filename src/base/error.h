// Errors: exceptions that carry the exit code of the process.
//
// A message names the operation and its object (file, key, tensor, block). It gives both values or
// shapes where two disagree, and it says how to go on. Nothing below main() calls exit().
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace dashlm {

enum class ExitCode : int {
  done = 0,
  bad_input = 1,        // wrong usage, configuration or input file
  runtime_failure = 2,  // the machine failed: disk full, out of memory, a broken invariant
  diverged = 3,         // too many steps in a row had a non-finite loss or gradient
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

template <class... Args>
[[noreturn]] void fail_input(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_runtime(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::runtime_failure, fmt::format(format, std::forward<Args>(args)...));
}

// Throws a bad_input Error unless `ok`.
template <class... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) fail_input(format, std::forward<Args>(args)...);
}

}  // namespace dashlm
