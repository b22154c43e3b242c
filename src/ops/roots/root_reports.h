// What became of the roots of a stack: on the device, and on the host.
#pragma once

#include <vector>

#include "ops/core/context.h"

namespace dashlm {

enum class RootStatus : int32_t {
  ok,
  out_of_steps,  // the set steps did not reach the tolerance: normal, the root is stored
  failed,        // not finite, LAPACK error, or diverged: the previous root was kept
};

// What became of the roots of a stack, on the device, so that the host need not wait to know it.
struct RootReports {
  Tensor status;     // (S) i32: a RootStatus
  Tensor steps;      // (S) i32: Newton steps made (p = 4 by NDB: of both roots together)
  Tensor failures;   // (S) i32: how many times in a row the block failed, up to now
  Tensor residual;   // (S): max |M - I| that the last Newton step began with
  Tensor scale;      // (S): s, the matrix was divided by it; EVD: lambda_max; 0 for a zero block
  Tensor condition;  // (S): EVD: of the matrix with its ridge; otherwise 0, unknown

  static RootReports take(Arena& arena, int64_t count);
  RootReports rows(int64_t begin, int64_t count) const;
  void clear(const Context& context) const;  // nothing was computed, nothing failed
};

// Completes the reports of a method whose steps, residual, scale (in units of the normalised block)
// and condition are there: the status, from the state that store_roots() left; the failures in a
// row, one more or none; the scale, times unit (S); scale and condition 0 for zero blocks. A block
// still active at the end of an iteration ran out of steps, else (not `iterative`) it is done.
void report_roots(Context& context, const RootReports& reports, const ConstTensor& state,
                  const ConstTensor& unit, bool iterative);

// The report on one block, on the host.
struct RootReport {
  RootStatus status = RootStatus::ok;
  int32_t steps = 0;
  int32_t failures = 0;
  float residual = 0;
  float scale = 0;
  float condition = 0;
};

// Waits for the device.
std::vector<RootReport> read_reports(Device& device, const RootReports& reports);

}  // namespace dashlm
