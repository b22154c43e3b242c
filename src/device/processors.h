// How many processors there are for this process.
#pragma once

#include <string>
#include <vector>

namespace dashlm {

// Numbers of the processors that this process may run on: its affinity.
std::vector<int> processors_allowed();

// How many of them the control groups of this process pay for (containers: --cpus), a fraction
// rounded up; 0: as many as there are. `root` is where /proc and /sys are: for tests.
int processors_paid_for(const std::string& root = "");

// The lesser of the two, and at least 1.
int usable_processors();

// What of the threads of one process decides whether they get in each other's way.
struct ThreadUse {
  std::string node;   // the same for all processes of a machine
  std::string group;  // the same for all processes of a control group
  int threads = 1;
  std::vector<int> allowed;
  int paid_for = 0;
};
// Of this process, with the CPU threads that it computes with.
ThreadUse own_thread_use();

// A sentence about the first that have more threads than processors: a rank, the ranks of a control
// group, or those of a node; "" where none has.
std::string warning_of_threads(const std::vector<ThreadUse>& ranks);

}  // namespace dashlm
