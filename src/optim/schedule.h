// Learning-rate schedules.
#pragma once

#include <cstdint>
#include <string>

#include "config/schema.h"

namespace dashlm {

enum class ScheduleType { one_cycle, cosine, wsd, linear, constant };

template <>
struct EnumNames<ScheduleType> {
  static constexpr std::pair<ScheduleType, const char*> names[] = {
      {ScheduleType::one_cycle, "one_cycle"},
      {ScheduleType::cosine, "cosine"},
      {ScheduleType::wsd, "wsd"},
      {ScheduleType::linear, "linear"},
      {ScheduleType::constant, "constant"},
  };
};

// With N steps, w of them warm-up, and step i counted from 0, in units of the peak rate:
//   one_cycle  half a cosine from `start` to 1 at fraction i/(w-1), then half a cosine from 1 to
//              `final` at fraction (i-w+1)/(N-w): the paper's schedule
//   cosine     linear warm-up (i+1)/w, then half a cosine from 1 to `final`
//   wsd        warm-up, stable, decay: linear warm-up, 1, then over the last `decay` steps linear
//   to
//              `final`
//   linear     linear warm-up, then linear from 1 to `final`
//   constant   linear warm-up, then 1
// All but constant reach `final` at the last step, i = N-1, unless nothing is left for the decay:
// the warm-up, which counts as part of N, may take all steps, or `decay` be 0.
struct Schedule {
  ScheduleType type = ScheduleType::one_cycle;
  int64_t warmup_steps = -1;  // -1: a tenth of all steps
  int64_t decay_steps = -1;   // -1: a fifth of all steps; for wsd at least one, if there is one
  double start = 0.01;
  double final = 0.1;

  void describe(Schema& schema);
  // Fills in what -1 stands for and checks that the phases fit into `steps`.
  void resolve(int64_t steps);
  // A sentence about a rate that never comes down to `final`; "" if it does. After resolve().
  std::string warning(int64_t steps) const;
  // The rate at `step` of `steps`, as a multiple of the peak. resolve() must have been called.
  double at(int64_t step, int64_t steps) const;
};

}  // namespace dashlm
