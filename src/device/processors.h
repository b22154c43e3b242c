// The number of processors for this process.
#pragma once

#include <string>
#include <vector>

namespace dashlm {

// Numbers of the processors that this process may run on: its affinity.
std::vector<int> processors_allowed();

// The number of processors that the control groups of this process pay for (containers: --cpus), a
// fraction rounded up. 0 means no limit. `root` is the folder of /proc and /sys, for tests.
int processors_paid_for(const std::string& root = "");

// The lesser of the two numbers, and at least 1.
int usable_processors();

// The facts about one process that decide whether threads get in each other's way.
struct ThreadUse {
  std::string node;   // the same for all processes of a machine
  std::string group;  // the same for all processes of a control group
  int threads = 1;
  std::vector<int> allowed;
  int paid_for = 0;
};
// The facts about this process and its computing threads.
ThreadUse own_thread_use();

// A sentence about the first case of more threads than processors: of a rank, of the ranks of a
// control group, or of the ranks of a node. "" if there is none.
std::string warning_of_threads(const std::vector<ThreadUse>& ranks);

}  // namespace dashlm
