#include "ops/core/cuda/support.cuh"
#include "ops/roots/backends.h"

namespace dashlm::cuda {
namespace {

// The tensors that report_roots_kernel reads and writes, each (S).
struct ReportArrays {
  int32_t *status, *failures;
  float *scale, *condition;
  const int32_t* state;
  const float* unit;
};

__global__ void report_roots_kernel(int64_t blocks, ReportArrays r, bool iterative) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    const int32_t state = r.state[s];
    const bool failed = state & kFailed, zero = state & kZero;
    const bool late = (state & kLate) || (iterative && (state & kActive));
    const RootStatus status = failed ? RootStatus::failed
                              : late ? RootStatus::out_of_steps
                                     : RootStatus::ok;
    r.status[s] = static_cast<int32_t>(status);
    r.failures[s] = failed ? r.failures[s] + 1 : 0;
    r.scale[s] = zero ? 0.0f : r.scale[s] * r.unit[s];
    if (zero) r.condition[s] = 0.0f;
  }
}

}  // namespace

void report_roots(Context& context, const RootReports& reports, const ConstTensor& state,
                  const ConstTensor& unit, bool iterative) {
  const int64_t blocks = state.elements();
  const ReportArrays arrays{reports.status.i32(), reports.failures.i32(),
                            reports.scale.f32(),  reports.condition.f32(),
                            state.i32(),          unit.f32()};
  launch(context, report_roots_kernel, for_elements(blocks), blocks, arrays, iterative);
}

}  // namespace dashlm::cuda
