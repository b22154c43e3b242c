#include "ops/model/swiglu.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Sizes {
  int64_t rows, width;
  double deviation;
};
const Sizes kSizes[] = {{1, 1, 1}, {1, 3, 5}, {7, 17, 1}, {9, 33, 5}, {20, 130, 30}, {3, 15, 200}};

struct Case {
  Lab lab;
  Tensor gate_up, out, d_out;

  explicit Case(const Sizes& s)
      : gate_up(lab.normal("gate_up", {s.rows, 2 * s.width}, s.deviation)),
        out(lab.output("out", {s.rows, s.width})),
        d_out(lab.normal("d_out", {s.rows, s.width})) {}
};

// Below exp's range silu is -0 instead of about -1e-36; everything else is relative: exp (2.5
// roundoffs), sum, quotient, product.
constexpr double kVanished = 1e-35;

TEST(Swiglu, Forward) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.width << " of " << s.deviation);
    Case c(s);
    run_everywhere(c.lab, [&](Context& context) { swiglu(context, c.out, c.gate_up); });
    const Doubles expected = reference::swiglu(values(c.gate_up), s.width);
    Doubles bound;
    for (const double y : expected) bound.push_back(5 * kRoundoff * std::abs(y) + kVanished * 1e3);
    expect_within(c.out, expected, bound);
  }
}

// silu' = s·(1 + x·(1 - s)) cancels near x = -1.28 and where s rounds to 1, by x roundoffs of s.
void check_backward(const Sizes& s, bool in_place) {
  SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.width << " of " << s.deviation);
  Case c(s);
  const Tensor d = in_place ? c.gate_up : c.lab.output("d_gate_up", c.gate_up.shape);
  const Doubles gate_up = values(c.gate_up), d_out = values(c.d_out);
  run_everywhere(c.lab, [&](Context& context) { swiglu_backward(context, d, c.d_out, c.gate_up); });
  const Doubles expected = reference::swiglu_backward(d_out, gate_up, s.width);
  Doubles bound(expected.size());
  const auto width = static_cast<size_t>(s.width);
  for (size_t i = 0; i < d_out.size(); ++i) {
    const size_t gate = i / width * 2 * width + i % width, up = gate + width;
    const double x = gate_up[gate], sigmoid = reference::sigmoid(x);
    bound[gate] = std::abs(d_out[i] * gate_up[up]) *
                  (kRoundoff * sigmoid * (5 + 4 * std::abs(x)) + kVanished * 1e3);
    bound[up] = std::abs(d_out[i]) * (5 * kRoundoff * std::abs(x) * sigmoid + kVanished * 1e3);
  }
  expect_within(d, expected, bound);
}

TEST(Swiglu, Backward) {
  for (const Sizes& s : kSizes) check_backward(s, false);
}

TEST(Swiglu, BackwardInPlace) {
  for (const Sizes& s : kSizes) check_backward(s, true);
}

TEST(Swiglu, ChecksShapes) {
  Case c({4, 5, 1});
  const Tensor d = c.lab.output("d_gate_up", c.gate_up.shape);
  expect_shapes_checked(
      c.lab, {c.out, c.gate_up}, {},
      [](Context& context, const std::vector<Tensor>& t) { swiglu(context, t[0], t[1]); });
  expect_shapes_checked(c.lab, {d, c.d_out, c.gate_up}, {},
                        [](Context& context, const std::vector<Tensor>& t) {
                          swiglu_backward(context, t[0], t[1], t[2]);
                        });
}

TEST(Swiglu, NanAndInfinityAreNotLost) {
  Case c({3, 20, 1});
  c.gate_up.f32()[40 + 7] = kNaN;   // a gate of row 1
  c.gate_up.f32()[80 + 25] = kNaN;  // an up of row 2
  c.gate_up.f32()[3] = INFINITY;
  const Tensor d = c.lab.output("d_gate_up", c.gate_up.shape);
  run(c.lab, [&](Context& context) {
    swiglu(context, c.out, c.gate_up);
    swiglu_backward(context, d, c.d_out, c.gate_up);
  });
  EXPECT_EQ(count_nan(c.out), 2);
  EXPECT_TRUE(std::isnan(c.out.f32()[20 + 7]) && std::isnan(c.out.f32()[40 + 5]));
  EXPECT_TRUE(std::isinf(c.out.f32()[3]));
  EXPECT_TRUE(std::isnan(d.f32()[40 + 7]) && std::isnan(d.f32()[60 + 7]));
  EXPECT_TRUE(std::isnan(d.f32()[80 + 5]));
}

}  // namespace
}  // namespace dashlm::testing
