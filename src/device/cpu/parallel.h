// Parallel loops of the CPU backend.
//
// Results never depend on the number of threads. The work is cut into items whose arithmetic does
// not depend on the thread that does them. The caller takes sums over items in a fixed order.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace dashlm::cpu {

inline int max_threads() {
  return omp_get_max_threads();
}

// Work is cut into this many parts for each thread, so that a thread that is slowed down does not
// keep the others waiting for long.
constexpr int64_t kPartsForThread = 4;

// Calls body(i) for every i in [0, count), in any order, on all threads. The first exception of a
// body is rethrown after the loop. BLAS and LAPACK called from a body run on its thread alone.
template <class Body>
void parallel_for(int64_t count, const Body& body) {
  std::exception_ptr error;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

// Calls body(begin, end) for consecutive ranges of at most `grain` that cover [0, count).
template <class Body>
void parallel_ranges(int64_t count, int64_t grain, const Body& body) {
  parallel_for((count + grain - 1) / grain,
               [&](int64_t i) { body(i * grain, std::min(count, (i + 1) * grain)); });
}

}  // namespace dashlm::cpu
