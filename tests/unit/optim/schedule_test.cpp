#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "support/expect_error.h"

namespace dashlm::testing {
namespace {

constexpr ScheduleType kTypes[] = {ScheduleType::one_cycle, ScheduleType::cosine, ScheduleType::wsd,
                                   ScheduleType::linear, ScheduleType::constant};
// Fractions and cosines in float64, of numbers up to 1.
constexpr double kTolerance = 1e-14;

struct Phases {
  int64_t steps, warmup;
};
const Phases kPhases[] = {{1, 0},  {1, 1},   {2, 0},    {2, 1},      {2, 2},   {10, 0},
                          {10, 1}, {10, 10}, {100, 10}, {9089, 908}, {37, 36}, {50, 5}};

Schedule resolved(ScheduleType type, const Phases& phases, int64_t decay = -1) {
  Schedule schedule{.type = type, .warmup_steps = phases.warmup, .decay_steps = decay};
  if (type == ScheduleType::wsd && decay < 0) {
    schedule.decay_steps = std::min(phases.steps / 5, phases.steps - phases.warmup);
  }
  schedule.resolve(phases.steps);
  return schedule;
}

std::string text(ScheduleType type, const Phases& phases) {
  return fmt::format("{}, {} steps, {} of warm-up", enum_name(type), phases.steps, phases.warmup);
}

// The paper's schedule as its authors give it: from peak/100 to peak along half a cosine at
// fraction i/(w-1), then from peak to peak/10 along half a cosine at fraction (i-w+1)/(N-w).
TEST(Schedule, OneCycleIsThePapers) {
  for (const Phases& phases : kPhases) {
    const Schedule schedule = resolved(ScheduleType::one_cycle, phases);
    for (int64_t i = 0; i < phases.steps; ++i) {
      const auto step = static_cast<double>(i), w = static_cast<double>(phases.warmup);
      const auto n = static_cast<double>(phases.steps);
      double expected = 0;
      if (i < phases.warmup) {
        // One warm-up step alone stands at the peak.
        const double fraction = phases.warmup == 1 ? 1 : step / (w - 1);
        expected = (0.01 + 1) / 2 + (0.01 - 1) / 2 * std::cos(std::numbers::pi * fraction);
      } else {
        const double fraction = (step - w + 1) / (n - w);
        expected = (1 + 0.1) / 2 + (1 - 0.1) / 2 * std::cos(std::numbers::pi * fraction);
      }
      ASSERT_NEAR(schedule.at(i, phases.steps), expected, kTolerance)
          << text(ScheduleType::one_cycle, phases) << ", step " << i;
    }
  }
}

// A hundred steps of which ten warm up, at steps 0, 4, 9, 10, 54, 79, 80, 90, 99, by hand: with
// half(f) = (1 - cos(pi f)) / 2, half(1/90) = 3.0458649e-4, half(1/2) = 1/2.
TEST(Schedule, ValuesByHand) {
  const Phases phases{100, 10};
  const auto at = [&](ScheduleType type, int64_t step) {
    return resolved(type, phases).at(step, phases.steps);
  };
  EXPECT_DOUBLE_EQ(at(ScheduleType::one_cycle, 0), 0.01);
  EXPECT_DOUBLE_EQ(at(ScheduleType::one_cycle, 9), 1);
  EXPECT_NEAR(at(ScheduleType::one_cycle, 10), 1 - 0.9 * 3.0458649045213492e-4, kTolerance);
  EXPECT_NEAR(at(ScheduleType::one_cycle, 54), 0.55, kTolerance);
  EXPECT_NEAR(at(ScheduleType::one_cycle, 99), 0.1, kTolerance);
  for (const ScheduleType type : kTypes) {
    if (type == ScheduleType::one_cycle) continue;
    EXPECT_DOUBLE_EQ(at(type, 0), 0.1);
    EXPECT_DOUBLE_EQ(at(type, 4), 0.5);
    EXPECT_DOUBLE_EQ(at(type, 9), 1);
  }
  EXPECT_NEAR(at(ScheduleType::cosine, 54), 0.55, kTolerance);
  EXPECT_NEAR(at(ScheduleType::linear, 10), 0.99, kTolerance);
  EXPECT_NEAR(at(ScheduleType::linear, 54), 0.55, kTolerance);
  EXPECT_EQ(at(ScheduleType::wsd, 79), 1);
  EXPECT_NEAR(at(ScheduleType::wsd, 80), 1 - 0.9 / 20, kTolerance);
  EXPECT_NEAR(at(ScheduleType::wsd, 89), 0.55, kTolerance);
  EXPECT_EQ(at(ScheduleType::constant, 99), 1);
}

// All but constant end at `final`, unless the run is all warm-up; none falls below its first or
// last value or exceeds 1.
TEST(Schedule, EndsAtFinalAndStaysInRange) {
  for (const ScheduleType type : kTypes) {
    for (const Phases& phases : kPhases) {
      SCOPED_TRACE(text(type, phases));
      const Schedule schedule = resolved(type, phases);
      const bool decays =
          type == ScheduleType::wsd ? schedule.decay_steps > 0 : type != ScheduleType::constant;
      const double last = decays && phases.warmup < phases.steps ? 0.1 : 1;
      EXPECT_NEAR(schedule.at(phases.steps - 1, phases.steps), last, kTolerance);
      const double lowest = std::min(schedule.at(0, phases.steps), last);
      for (int64_t i = 0; i < phases.steps; ++i) {
        ASSERT_GE(schedule.at(i, phases.steps), lowest - kTolerance) << i;
        ASSERT_LE(schedule.at(i, phases.steps), 1 + kTolerance) << i;
      }
    }
  }
}

// No step changes the rate by more than the steepest slope of its curve: 1/phase for a line, and
// pi/2 of that for half a cosine. Rises during warm-up, never after it.
TEST(Schedule, IsContinuousAndMonotonic) {
  for (const ScheduleType type : kTypes) {
    for (const Phases& phases : {Phases{1000, 100}, Phases{1000, 0}, Phases{1000, 37}}) {
      SCOPED_TRACE(text(type, phases));
      const Schedule schedule = resolved(type, phases);
      const int64_t falling =
          type == ScheduleType::wsd ? schedule.decay_steps : phases.steps - phases.warmup;
      for (int64_t i = 1; i < phases.steps; ++i) {
        const double change = schedule.at(i, phases.steps) - schedule.at(i - 1, phases.steps);
        if (i < phases.warmup) {
          ASSERT_GT(change, 0) << i;
          ASSERT_LE(change, std::numbers::pi / 2 / static_cast<double>(phases.warmup - 1)) << i;
        } else {
          ASSERT_LE(change, kTolerance) << i;
          ASSERT_GE(change, -std::numbers::pi / 2 / static_cast<double>(falling)) << i;
        }
      }
    }
  }
}

TEST(Schedule, ResolvesDefaults) {
  Schedule schedule;
  schedule.resolve(9089);
  EXPECT_EQ(schedule.warmup_steps, 908);
  EXPECT_EQ(schedule.decay_steps, 1817);
  Schedule none{.warmup_steps = 0, .decay_steps = 0};
  none.resolve(10);
  EXPECT_EQ(none.warmup_steps, 0);
  EXPECT_EQ(none.decay_steps, 0);
}

TEST(Schedule, WsdDecaysInShortRunsToo) {
  for (int64_t steps = 1; steps <= 12; ++steps) {
    Schedule schedule{.type = ScheduleType::wsd};
    schedule.resolve(steps);
    EXPECT_EQ(schedule.decay_steps, std::max<int64_t>(1, steps / 5));
    EXPECT_NEAR(schedule.at(steps - 1, steps), 0.1, kTolerance) << steps;
    EXPECT_EQ(schedule.warning(steps), "");
  }
}

TEST(Schedule, WarnsWhereTheRateNeverFalls) {
  const auto warning = [](Schedule schedule, int64_t steps) {
    schedule.resolve(steps);
    const bool falls = std::fabs(schedule.at(steps - 1, steps) - schedule.final) < kTolerance;
    EXPECT_EQ(schedule.warning(steps).empty(), falls || schedule.type == ScheduleType::constant);
    return schedule.warning(steps);
  };
  for (const ScheduleType type : kTypes) {
    for (const int64_t steps : {1, 3, 10}) {
      const std::string all_warmup =
          warning({.type = type, .warmup_steps = steps, .decay_steps = 0}, steps);
      if (type != ScheduleType::constant) {
        EXPECT_THAT(all_warmup, ::testing::HasSubstr("train.warmup_steps = "));
      }
      EXPECT_EQ(warning({.type = type, .warmup_steps = steps - 1, .decay_steps = 1}, steps), "");
      EXPECT_EQ(warning({.type = type}, steps), "");
      EXPECT_EQ(warning({.type = type, .warmup_steps = steps, .decay_steps = 0, .final = 1}, steps),
                "");
    }
  }
  EXPECT_THAT(warning({.type = ScheduleType::wsd, .decay_steps = 0}, 10),
              ::testing::HasSubstr("train.decay_steps is 0"));
}

TEST(Schedule, RefusesPhasesThatDoNotFit) {
  expect_bad_input({"train.warmup_steps = 11", "train.steps = 10"}, [] {
    Schedule schedule{.warmup_steps = 11};
    schedule.resolve(10);
  });
  expect_bad_input({"train.warmup_steps = 6", "train.decay_steps = 5", "train.steps = 10"}, [] {
    Schedule schedule{.type = ScheduleType::wsd, .warmup_steps = 6, .decay_steps = 5};
    schedule.resolve(10);
  });
  Schedule fits{.type = ScheduleType::wsd, .warmup_steps = 5, .decay_steps = 5};
  fits.resolve(10);
}

}  // namespace
}  // namespace dashlm::testing
