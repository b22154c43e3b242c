// How the CPU shares out the batches of a stack to threads.
#pragma once

#include <cstdint>
#include <functional>

namespace dashlm::cpu {

// How a stack is worked off: batches of `blocks`, by `workers` threads that take one each, or by
// all threads together, one batch after the other.
struct BatchPlan {
  int64_t blocks = 1;
  int64_t workers = 1;
  bool together = false;
};
BatchPlan plan_batches(int64_t blocks, int64_t n);
// Calls body() such that operations in it use as many threads as they would in run_batches().
void run_as_worker(const BatchPlan& plan, const std::function<void()>& body);
void run_batches(const BatchPlan& plan, int64_t batches,
                 const std::function<void(int64_t worker, int64_t batch)>& body);
// Threads that an operation called from here will run on.
int64_t threads_of_operation();

}  // namespace dashlm::cpu
