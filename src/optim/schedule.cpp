#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace dashlm {
namespace {

double half_cosine(double from, double to, double fraction) {
  return from + (to - from) * 0.5 * (1.0 - std::cos(std::numbers::pi * fraction));
}

}  // namespace

void Schedule::describe(Schema& schema) {
  schema.field("schedule", type, "shape of the learning rate over the run");
  schema.field("warmup_steps", warmup_steps, "steps of warm-up; -1: a tenth of all steps", {-1});
  schema.field("decay_steps", decay_steps,
               "wsd: steps of decay at the end; -1: a fifth of all steps, at least one", {-1});
  schema.field("lr_start", start, "one_cycle: the first rate, as a multiple of the peak", {0, 1});
  schema.field("lr_final", final, "the last rate, as a multiple of the peak", {0, 1});
}

void Schedule::resolve(int64_t steps) {
  if (warmup_steps < 0) warmup_steps = steps / 10;
  if (decay_steps < 0) {
    const bool decays = type == ScheduleType::wsd && warmup_steps < steps;
    decay_steps = std::max<int64_t>(steps / 5, decays ? 1 : 0);
  }
  require(warmup_steps <= steps, "train.warmup_steps = {} is more than train.steps = {}",
          warmup_steps, steps);
  require(type != ScheduleType::wsd || warmup_steps + decay_steps <= steps,
          "train.warmup_steps = {} and train.decay_steps = {} do not fit into train.steps = {}",
          warmup_steps, decay_steps, steps);
}

std::string Schedule::warning(int64_t steps) const {
  if (type == ScheduleType::constant || final == 1.0) return "";
  if (warmup_steps == steps) {
    return fmt::format(
        "the learning rate never falls to train.lr_final = {}: train.warmup_steps = {} are all of "
        "train.steps; set fewer",
        final, warmup_steps);
  }
  if (type == ScheduleType::wsd && decay_steps == 0) {
    return fmt::format(
        "the learning rate never falls to train.lr_final = {}: train.decay_steps is 0; set it to "
        "the steps that the decay is to take",
        final);
  }
  return "";
}

double Schedule::at(int64_t step, int64_t steps) const {
  const int64_t w = warmup_steps;
  if (step < w) {
    if (type == ScheduleType::one_cycle) {
      return w == 1
                 ? 1.0
                 : half_cosine(start, 1.0, static_cast<double>(step) / static_cast<double>(w - 1));
    }
    return static_cast<double>(step + 1) / static_cast<double>(w);
  }
  // From 0 (the last step of the phase before) to 1 (the last step of the run).
  const auto progress = [&](int64_t phase) {
    return static_cast<double>(step - (steps - phase) + 1) / static_cast<double>(phase);
  };
  switch (type) {
    case ScheduleType::one_cycle:
    case ScheduleType::cosine:
      return half_cosine(1.0, final, progress(steps - w));
    case ScheduleType::linear:
      return 1.0 + (final - 1.0) * progress(steps - w);
    case ScheduleType::wsd:
      return step < steps - decay_steps ? 1.0 : 1.0 + (final - 1.0) * progress(decay_steps);
    case ScheduleType::constant:
      return 1.0;
  }
  return 1.0;
}

}  // namespace dashlm
