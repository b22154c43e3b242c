#include "ops/model/cross_entropy.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Sizes {
  int64_t rows, vocab;
  double deviation;
  double mean = 0;
};
const Sizes kSizes[] = {{1, 1, 1},    {3, 1, 1e4},   {1, 2, 1},     {5, 17, 1},     {9, 100, 5},
                        {4, 1001, 1}, {13, 65, 1e4}, {2, 32000, 2}, {7, 50, 1, 1e4}};
constexpr float kScale = 0.125f;

struct Case {
  Lab lab;
  Tensor logits, targets, losses;

  explicit Case(const Sizes& s)
      : logits(lab.normal("logits", {s.rows, s.vocab}, s.deviation, s.mean)),
        targets(lab.integers("targets", s.rows, 0, s.vocab)),
        losses(lab.output("losses", {s.rows})) {
    if (s.rows > 2) targets.i32()[1] = kIgnoredTarget;
  }
  reference::CrossEntropy expected() const {
    return reference::cross_entropy(values(logits),
                                    {targets.i32(), targets.i32() + targets.elements()}, kScale);
  }
};

// Relative error of the sum of V exponentials: each has 3 roundoffs from exp and its argument, and
// the additions are a random walk over V positive terms (where the compiler uses one lane only).
double sum_error(int64_t vocab) {
  return kRoundoff * (3 + std::sqrt(static_cast<double>(vocab)) / 4);
}

// loss = log(sum) + (max - logit): the logarithm turns the relative error of the sum into an
// absolute one, and both terms and their sum are rounded.
Doubles loss_bound(const Case& c, const Doubles& losses) {
  Doubles bound;
  const int64_t vocab = c.logits.dim(1);
  for (const double loss : losses) bound.push_back(sum_error(vocab) + 2 * kRoundoff * loss);
  for (int64_t i = 0; i < c.targets.elements(); ++i) {
    if (c.targets.i32()[i] == kIgnoredTarget) bound[static_cast<size_t>(i)] = 0;
  }
  return bound;
}

TEST(CrossEntropy, LossesAlone) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.vocab << " of " << s.deviation);
    Case c(s);
    const auto expected = c.expected();
    run_everywhere(c.lab, [&](Context& context) {
      cross_entropy_loss(context, c.losses, c.logits, c.targets);
    });
    expect_within(c.losses, expected.losses, loss_bound(c, expected.losses));
  }
}

TEST(CrossEntropy, LossesAndGradient) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.vocab << " of " << s.deviation);
    Case c(s), alone(s);
    const auto expected = c.expected();
    const Doubles x = values(c.logits);
    run_everywhere(c.lab, [&](Context& context) {
      cross_entropy(context, c.losses, c.logits, c.logits, c.targets, kScale);
    });
    expect_within(c.losses, expected.losses, loss_bound(c, expected.losses));

    // The same losses, bit for bit, without the gradient.
    run(alone.lab, [&](Context& context) {
      cross_entropy_loss(context, alone.losses, alone.logits, alone.targets);
    });
    EXPECT_EQ(values(c.losses), values(alone.losses));

    // softmax: the sum's error, exp's, and that of x - max; where x is the target the difference
    // from 1 is rounded at the magnitude of 1. Exponentials below 2^-126 are lost.
    Doubles bound(x.size());
    const auto scale = static_cast<double>(kScale);
    for (int64_t i = 0; i < s.rows; ++i) {
      const double* row = x.data() + i * s.vocab;
      const double max = *std::max_element(row, row + s.vocab);
      const int32_t target = c.targets.i32()[i];
      for (int64_t j = 0; j < s.vocab && target != kIgnoredTarget; ++j) {
        const auto at = static_cast<size_t>(i * s.vocab + j);
        const double p = expected.gradient[at] / scale + (j == target ? 1 : 0);
        bound[at] = scale * (p * (2 * sum_error(s.vocab) + kRoundoff * (max - row[j])) +
                             (j == target ? kRoundoff : 0) + 2e-38);
      }
    }
    expect_within(c.logits, expected.gradient, bound);
  }
}

TEST(CrossEntropy, OneTokenOrOneCertainTokenHasNoLossAndNoGradient) {
  Case c({3, 1, 1e4});
  c.targets.i32()[1] = 0;
  run(c.lab, [&](Context& context) {
    cross_entropy(context, c.losses, c.logits, c.logits, c.targets, kScale);
  });
  EXPECT_EQ(values(c.losses), Doubles(3, 0));
  EXPECT_EQ(values(c.logits), Doubles(3, 0));

  Case certain({1, 40, 1});
  certain.logits.f32()[certain.targets.i32()[0]] = 1e4f;
  run(certain.lab, [&](Context& context) {
    cross_entropy(context, certain.losses, certain.logits, certain.logits, certain.targets, kScale);
  });
  EXPECT_EQ(values(certain.losses), Doubles(1, 0));
  EXPECT_EQ(values(certain.logits), Doubles(40, 0));
}

TEST(CrossEntropy, ChecksShapes) {
  Case c({4, 5, 1});
  expect_shapes_checked(c.lab, {c.losses, c.logits, c.targets}, {{1, 1}},
                        [](Context& context, const std::vector<Tensor>& t) {
                          cross_entropy(context, t[0], t[1], t[1], t[2], 1.0f);
                        });
  expect_shapes_checked(c.lab, {c.losses, c.logits, c.targets}, {{1, 1}},
                        [](Context& context, const std::vector<Tensor>& t) {
                          cross_entropy_loss(context, t[0], t[1], t[2]);
                        });
}

// Wherever the NaN is, first, last or at the target: a comparison must not lose it.
TEST(CrossEntropy, NanReachesTheLossAndTheWholeRow) {
  for (const int64_t at : {0, 18, 36}) {
    for (const float bad : {kNaN, INFINITY}) {
      Case c({3, 37, 1}), alone({3, 37, 1});
      c.logits.f32()[at] = alone.logits.f32()[at] = bad;
      run(c.lab, [&](Context& context) {
        cross_entropy(context, c.losses, c.logits, c.logits, c.targets, kScale);
      });
      run(alone.lab, [&](Context& context) {
        cross_entropy_loss(context, alone.losses, alone.logits, alone.targets);
      });
      EXPECT_EQ(count_nan(c.logits), 37);
      EXPECT_FALSE(std::isfinite(c.losses.f32()[0]));
      EXPECT_FALSE(std::isfinite(alone.losses.f32()[0]));
      EXPECT_EQ(count_nan(c.losses.rows(1, 2)), 0);
    }
  }
}

}  // namespace
}  // namespace dashlm::testing
