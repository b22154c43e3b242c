#include "ops/roots/backends.h"

namespace dashlm::cpu {

void report_roots(Context&, const RootReports& reports, const ConstTensor& state,
                  const ConstTensor& unit, bool iterative) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    const int32_t flags = state.i32()[s];
    const bool failed = flags & kFailed, zero = flags & kZero;
    const bool late = (flags & kLate) || (iterative && (flags & kActive));
    const RootStatus status = failed ? RootStatus::failed
                              : late ? RootStatus::out_of_steps
                                     : RootStatus::ok;
    reports.status.i32()[s] = static_cast<int32_t>(status);
    int32_t& failures = reports.failures.i32()[s];
    failures = failed ? failures + 1 : 0;
    float &scale = reports.scale.f32()[s], &condition = reports.condition.f32()[s];
    scale = zero ? 0.0f : scale * unit.f32()[s];
    condition = zero ? 0.0f : condition;
  }
}

}  // namespace dashlm::cpu
