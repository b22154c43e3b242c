#include "ops/stacks/cpu/stack_batches.h"

#include <algorithm>

#include "device/cpu/parallel.h"

namespace dashlm::cpu {
namespace {
thread_local bool is_worker = false;
}

int64_t threads_of_operation() {
  return is_worker ? 1 : max_threads();
}

BatchPlan plan_batches(int64_t blocks, int64_t n) {
  const int64_t threads = max_threads();
  // Large blocks that threads cannot share out evenly go to all threads together, about 1 MiB in a
  // matrix at a time.
  if (n >= 256 && blocks % threads != 0 && blocks < kPartsForThread * threads) {
    return {.blocks = std::max<int64_t>(1, (512 * 512) / (n * n)), .workers = 1, .together = true};
  }
  // Otherwise each thread takes batches of its own: one block of n = 128, or as many smaller ones
  // as make up for what calling an operation costs, but some batches for every thread.
  const int64_t share = std::max<int64_t>(1, blocks / (kPartsForThread * threads));
  const int64_t size = std::clamp<int64_t>((128 * 128) / (n * n), 1, share);
  return {.blocks = size, .workers = threads, .together = false};
}

void run_as_worker(const BatchPlan& plan, const std::function<void()>& body) {
  const bool before = is_worker;
  is_worker = !plan.together;
  try {
    body();
  } catch (...) {
    is_worker = before;
    throw;
  }
  is_worker = before;
}

void run_batches(const BatchPlan& plan, int64_t batches,
                 const std::function<void(int64_t worker, int64_t batch)>& body) {
  if (plan.together) {
    for (int64_t batch = 0; batch < batches; ++batch) body(0, batch);
    return;
  }
  omp_set_max_active_levels(1);  // the loops of a worker's operations stay on its thread
  parallel_for(batches, [&](int64_t batch) {
    const int64_t worker = omp_get_thread_num();
    run_as_worker(plan, [&] { body(worker, batch); });
  });
}

}  // namespace dashlm::cpu
