// Reports on roots: made on the device, read back in one go.
#include <gtest/gtest.h>

#include "optim/inverse_root/inverse_root.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kBlocks = 7;
// Done, still active, done late, active and late, failed, failed while active, zero.
constexpr int32_t kStates[kBlocks] = {0,       kActive,           kLate, kActive | kLate,
                                      kFailed, kFailed | kActive, kZero};

Tensor integers(Lab& lab, const char* name, const std::vector<int32_t>& from) {
  const Tensor tensor = lab.integers(name, std::ssize(from), 0, 1);
  std::copy(from.begin(), from.end(), tensor.i32());
  return tensor;
}

struct Given {
  RootReports reports;
  Tensor state, unit;

  explicit Given(Lab& lab) {
    reports = {.status = integers(lab, "status", std::vector<int32_t>(kBlocks, -1)),
               .steps = integers(lab, "steps", {3, 10, 7, 20, 1, 2, 0}),
               .failures = integers(lab, "failures", {0, 5, 1, 0, 0, 4, 9}),
               .residual = lab.normal("residual", {kBlocks}),
               .scale = lab.normal("scale", {kBlocks}),
               .condition = lab.normal("condition", {kBlocks})};
    state = integers(lab, "state", {kStates, kStates + kBlocks});
    unit = lab.normal("unit", {kBlocks});
  }
};

TEST(Reports, FollowFromTheStateOfEachBlock) {
  for (const bool iterative : {true, false}) {
    Lab lab;
    const Given given(lab);
    const std::vector<RootReport> before = read_reports(lab.device(), given.reports);
    run_everywhere(lab, [&](Context& context) {
      report_roots(context, given.reports, given.state, given.unit, iterative);
    });
    const std::vector<RootReport> after = read_reports(lab.device(), given.reports);
    const RootStatus ok = RootStatus::ok, late = RootStatus::out_of_steps;
    const RootStatus failed = RootStatus::failed, active = iterative ? late : ok;
    const RootStatus status[kBlocks] = {ok, active, late, late, failed, failed, ok};
    const int32_t failures[kBlocks] = {0, 0, 0, 0, 1, 5, 0};
    for (size_t s = 0; s < kBlocks; ++s) {
      SCOPED_TRACE(s);
      const bool zero = kStates[s] & kZero;
      EXPECT_EQ(after[s].status, status[s]);
      EXPECT_EQ(after[s].failures, failures[s]);
      EXPECT_EQ(after[s].steps, before[s].steps);
      EXPECT_EQ(after[s].residual, before[s].residual);
      EXPECT_EQ(after[s].scale, zero ? 0.0f : before[s].scale * given.unit.f32()[s]);
      EXPECT_EQ(after[s].condition, zero ? 0.0f : before[s].condition);
    }
  }
}

TEST(Reports, ShapesAreChecked) {
  Lab lab;
  const Given given(lab);
  const RootReports& r = given.reports;
  expect_shapes_checked(
      lab,
      {r.status, r.steps, r.failures, r.residual, r.scale, r.condition, given.state, given.unit},
      {}, [](Context& context, const std::vector<Tensor>& x) {
        report_roots(context, {x[0], x[1], x[2], x[3], x[4], x[5]}, x[6], x[7], true);
      });
}

TEST(Reports, ArePartsOfOneAnother) {
  Lab lab;
  const Given given(lab);
  const std::vector<RootReport> all = read_reports(lab.device(), given.reports);
  const std::vector<RootReport> part = read_reports(lab.device(), given.reports.rows(2, 3));
  ASSERT_EQ(part.size(), 3u);
  for (size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(part[s].steps, all[s + 2].steps);
    EXPECT_EQ(part[s].failures, all[s + 2].failures);
    EXPECT_EQ(part[s].residual, all[s + 2].residual);
    EXPECT_EQ(part[s].scale, all[s + 2].scale);
    EXPECT_EQ(part[s].condition, all[s + 2].condition);
  }
}

}  // namespace
}  // namespace dashlm::testing
