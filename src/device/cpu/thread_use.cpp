// The processors that this process's threads use.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/cpu/parallel.h"
#include "device/processors.h"

namespace dashlm {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The path of the group. It means the same to all processes that see the same root of all groups.
std::string control_group() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  std::error_code error;
  text << std::filesystem::read_symlink("/proc/self/ns/cgroup", error).string() << file.rdbuf();
  return text.str();
}

}  // namespace

ThreadUse own_thread_use() {
  // Processes in containers have names of their own for one machine.
  const std::string node = first_line("/proc/sys/kernel/random/boot_id");
  return {node, node + control_group(), cpu::max_threads(), processors_allowed(),
          processors_paid_for()};
}

}  // namespace dashlm
