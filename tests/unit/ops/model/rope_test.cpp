#include "ops/model/rope.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Sizes {
  int64_t batch, length, all_heads, width, heads, first;
};
const Sizes kSizes[] = {{1, 1, 1, 2, 1, 0},   {1, 1, 3, 6, 2, 17},    {2, 17, 8, 10, 4, 0},
                        {3, 5, 10, 8, 8, 40}, {1, 130, 4, 128, 3, 3}, {2, 16, 3, 34, 0, 1}};
constexpr double kTheta = 10000;

TEST(Rope, TableIsCorrectlyRounded) {
  Lab lab;
  const Tensor table = lab.output("table", {3000, 5, 2});
  run_everywhere(lab, [&](Context& context) { fill_rope_table(context, table, kTheta); });
  Doubles expected;
  for (int64_t t = 0; t < 3000; ++t) {
    for (int64_t i = 0; i < 5; ++i) {
      const double angle =
          static_cast<double>(t) * std::pow(kTheta, -2 * static_cast<double>(i) / 10);
      expected.push_back(std::cos(angle));
      expected.push_back(std::sin(angle));
    }
  }
  // The angle's own error in float64 is far below the roundoff of float32.
  expect_within(table, expected, Doubles(expected.size(), kRoundoff * 0.501));
}

struct Case {
  Lab lab;
  Tensor x, table;

  explicit Case(const Sizes& s)
      : x(lab.normal("x", {s.batch, s.length, s.all_heads, s.width})),
        table(lab.output("table", {s.first + s.length, s.width / 2, 2})) {
    run(lab, [&](Context& context) { fill_rope_table(context, table, kTheta); });
  }
};

// Each of the two coordinates of a pair: two products with rounded factors and their sum, so three
// roundings of at most the pair's length. Heads that are not rotated are the same bits.
Doubles rope_bound(const Doubles& x, const Sizes& s) {
  Doubles bound(x.size());
  for (size_t i = 0; i < x.size(); i += 2) {
    const auto head = static_cast<int64_t>(i) / s.width % s.all_heads;
    bound[i] = bound[i + 1] = head < s.heads ? 3 * kRoundoff * norm(x.data() + i, 2) : 0;
  }
  return bound;
}

TEST(Rope, RotatesPairsAtTheirPositions) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.length << " positions from " << s.first);
    for (const auto direction : {RopeDirection::forward, RopeDirection::backward}) {
      Case c(s);
      const Doubles before = values(c.x);
      run_everywhere(c.lab, [&](Context& context) {
        rope(context, c.x, c.table, s.heads, direction, s.first);
      });
      expect_within(c.x,
                    reference::rope(before, s.length, s.all_heads, s.width, s.heads, kTheta,
                                    s.first, direction == RopeDirection::forward ? 1 : -1),
                    rope_bound(before, s));
    }
  }
}

TEST(Rope, BackwardUndoesForward) {
  for (const Sizes& s : kSizes) {
    Case c(s);
    const Doubles before = values(c.x);
    run(c.lab, [&](Context& context) {
      rope(context, c.x, c.table, s.heads, RopeDirection::forward, s.first);
      rope(context, c.x, c.table, s.heads, RopeDirection::backward, s.first);
    });
    Doubles bound = rope_bound(before, s);
    for (double& b : bound) b *= 2;
    expect_within(c.x, before, bound);
  }
}

TEST(Rope, ChecksShapes) {
  Case c({2, 3, 4, 6, 2, 1});
  const auto rotate = [](Context& context, const std::vector<Tensor>& t) {
    rope(context, t[0], t[1], 2, RopeDirection::forward, 1);
  };
  expect_shapes_checked(c.lab, {c.x, c.table}, {{0, 0}, {0, 2}, {1, 0}}, rotate);
  Arena scratch(c.lab.device(), "scratch");
  Context context{c.lab.device(), scratch};
  expect_runtime_failure({"rope", "x f32 (2, 3, 4, 6)"},
                         [&] { rope(context, c.x, c.table, 5, RopeDirection::forward, 1); });
  expect_runtime_failure({"rope", "positions 2 to 5", "table f32 (4, 3, 2)"},
                         [&] { rope(context, c.x, c.table, 2, RopeDirection::forward, 2); });
  expect_shapes_checked(c.lab, {c.table}, {{0, 0}, {0, 1}},
                        [](Context& planning, const std::vector<Tensor>& t) {
                          fill_rope_table(planning, t[0], kTheta);
                        });
}

TEST(Rope, NanFillsItsPairOnly) {
  Case c({1, 4, 3, 8, 3, 0});
  c.x.f32()[50] = kNaN;
  run(c.lab, [&](Context& context) { rope(context, c.x, c.table, 3, RopeDirection::forward); });
  EXPECT_EQ(count_nan(c.x), 2);
  EXPECT_TRUE(std::isnan(c.x.f32()[50]) && std::isnan(c.x.f32()[51]));
}

}  // namespace
}  // namespace dashlm::testing
