#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace dashlm {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool can_redraw(int file) {
  const std::string term = environment("TERM");
  return isatty(file) == 1 && !term.empty() && term != "dumb";
}

bool wants_color(int file) {
  return can_redraw(file) && environment("NO_COLOR").empty();
}

int columns_of(int file) {
  struct winsize size = {};
  const bool known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const int wished = std::atoi(environment("COLUMNS").c_str());
  if (!known) return wished > 0 ? wished : 80;
  return wished > 0 ? std::min<int>(wished, size.ws_col) : size.ws_col;
}

}  // namespace dashlm
