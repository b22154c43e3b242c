#include "ops/model/rms_norm.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Sizes {
  int64_t rows, width;
  double deviation;
};
// Around the 16 rows and 64 columns of one item of the CPU kernels; rows so small that eps matters.
const Sizes kSizes[] = {{1, 1, 1},   {1, 3, 1e-3}, {15, 64, 1}, {17, 65, 1e-3},
                        {33, 7, 50}, {40, 130, 1}, {3, 1000, 1}};
constexpr float kEps = 1e-5f;

struct Case {
  Lab lab;
  Tensor x, weight, out, rstd, d_out, d_x, d_weight;

  explicit Case(const Sizes& s)
      : x(lab.normal("x", {s.rows, s.width}, s.deviation)),
        weight(lab.normal("weight", {s.width}, 0.3, 1)),
        out(lab.output("out", x.shape)),
        rstd(lab.output("rstd", {s.rows})),
        d_out(lab.normal("d_out", x.shape)),
        d_x(lab.normal("d_x", x.shape)),
        d_weight(lab.normal("d_weight", {s.width})) {}
};

// A sum of d squares has a relative error of a few roundoffs (positive terms, at least four partial
// sums: sqrt(d)/8 more for the random walk); its root halves it, and there are four roundings after
// it.
double rstd_error(int64_t width) {
  return kRoundoff * (4 + std::sqrt(static_cast<double>(width)) / 8);
}

TEST(RmsNorm, Forward) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.width);
    Case c(s);
    run_everywhere(
        c.lab, [&](Context& context) { rms_norm(context, c.out, c.rstd, c.x, c.weight, kEps); });
    const Doubles expected =
        reference::rms_norm(values(c.x), values(c.weight), static_cast<double>(kEps));
    Doubles bound;
    for (const double y : expected) bound.push_back(std::abs(y) * rstd_error(s.width));
    expect_within(c.out, expected, bound);
    for (int64_t i = 0; i < s.rows; ++i) {
      const double length = norm(values(c.x).data() + i * s.width, s.width);
      const double rstd =
          1 / std::sqrt(length * length / static_cast<double>(s.width) + static_cast<double>(kEps));
      EXPECT_NEAR(c.rstd.f32()[i], rstd, rstd * rstd_error(s.width));
    }
  }
}

// Each element of d_x is rstd · (g - n·mean(g·n)): the mean has the error of an inner product,
// ‖g‖·‖n‖/d roundoffs, and everything is rounded a few times at its own magnitude.
TEST(RmsNorm, BackwardAddsToBothGradients) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.width);
    Case c(s);
    run(c.lab, [&](Context& context) { rms_norm(context, c.out, c.rstd, c.x, c.weight, kEps); });
    const Doubles before_x = values(c.d_x), before_weight = values(c.d_weight);
    run_everywhere(c.lab, [&](Context& context) {
      rms_norm_backward(context, {c.d_x, c.d_weight, c.d_out, c.x, c.rstd, c.weight});
    });

    const Doubles x = values(c.x), w = values(c.weight), d_out = values(c.d_out);
    auto expected = reference::rms_norm_backward(d_out, x, w, static_cast<double>(kEps));
    Doubles bound_x(x.size()), bound_weight(w.size());
    for (int64_t i = 0; i < s.rows; ++i) {
      const double rstd = static_cast<double>(c.rstd.f32()[i]);
      Doubles g(w.size());
      for (size_t j = 0; j < w.size(); ++j)
        g[j] = d_out[static_cast<size_t>(i * s.width) + j] * w[j];
      const double* row = x.data() + i * s.width;
      const double projection =
          norm(g.data(), s.width) * norm(row, s.width) * rstd * rstd / static_cast<double>(s.width);
      for (size_t j = 0; j < w.size(); ++j) {
        const size_t at = static_cast<size_t>(i * s.width) + j;
        bound_x[at] =
            2 * rstd_error(s.width) * rstd * (std::abs(g[j]) + std::abs(row[j]) * projection) +
            kRoundoff * (std::abs(before_x[at]) + std::abs(expected.x[at]));
        expected.x[at] += before_x[at];
        bound_weight[j] += std::pow(d_out[at] * row[j] * rstd, 2);
      }
    }
    // N terms of a few roundings each, added one after the other to what was there.
    for (size_t j = 0; j < w.size(); ++j) {
      bound_weight[j] = rstd_error(s.width) * std::sqrt(bound_weight[j]) * 2 +
                        kRoundoff * std::sqrt(static_cast<double>(s.rows)) *
                            (std::abs(before_weight[j]) + std::sqrt(bound_weight[j]));
      expected.weight[j] += before_weight[j];
    }
    expect_within(c.d_x, expected.x, bound_x);
    expect_within(c.d_weight, expected.weight, bound_weight);
  }
}

TEST(RmsNorm, ChecksShapes) {
  Case c({4, 5, 1});
  expect_shapes_checked(c.lab, {c.out, c.rstd, c.x, c.weight}, {},
                        [](Context& context, const std::vector<Tensor>& t) {
                          rms_norm(context, t[0], t[1], t[2], t[3], kEps);
                        });
  expect_shapes_checked(c.lab, {c.d_x, c.d_weight, c.d_out, c.x, c.rstd, c.weight}, {},
                        [](Context& context, const std::vector<Tensor>& t) {
                          rms_norm_backward(context, {t[0], t[1], t[2], t[3], t[4], t[5]});
                        });
}

TEST(RmsNorm, NanFillsItsRowOnly) {
  Case c({5, 70, 1});
  c.x.f32()[2 * 70 + 69] = kNaN;
  run(c.lab, [&](Context& context) {
    rms_norm(context, c.out, c.rstd, c.x, c.weight, kEps);
    rms_norm_backward(context, {c.d_x, c.d_weight, c.d_out, c.x, c.rstd, c.weight});
  });
  EXPECT_EQ(count_nan(c.out), 70);
  EXPECT_EQ(count_nan(c.out.rows(2, 1)), 70);
  EXPECT_EQ(count_nan(c.d_x), 70);
  EXPECT_EQ(count_nan(c.d_x.rows(2, 1)), 70);
  EXPECT_EQ(count_nan(c.d_weight), 70);
}

}  // namespace
}  // namespace dashlm::testing
