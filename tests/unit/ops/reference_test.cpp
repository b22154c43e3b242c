// The gradients of tests/support/reference.h against finite differences of its forward passes, so
// that what the operations are tested against is itself tested.
#include "support/reference.h"

#include <functional>

#include "support/lab.h"

namespace dashlm::testing {
namespace {

Doubles random(int64_t count, uint64_t stream, double mean = 0) {
  const CounterRandom numbers(5, Purpose::test, stream);
  Doubles x(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = mean + numbers.normal(i);
  return x;
}

double inner(const Doubles& a, const Doubles& b) {
  return reference::dot(a, 0, b, 0, static_cast<int64_t>(a.size()));
}

// Central differences with step h: the truncation error is h²/6 of a third derivative of order one,
// and float64 rounding 1e-16/h: both below 1e-9 at h = 1e-5.
void expect_gradient(const std::function<double(const Doubles&)>& f, Doubles x,
                     const Doubles& gradient) {
  constexpr double kStep = 1e-5, kTolerance = 2e-8;
  for (size_t i = 0; i < x.size(); ++i) {
    const double center = x[i];
    x[i] = center + kStep;
    const double above = f(x);
    x[i] = center - kStep;
    const double below = f(x);
    x[i] = center;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), kTolerance) << "element " << i;
  }
}

TEST(Reference, RmsNormGradient) {
  const Doubles x = random(15, 1), w = random(5, 2, 1), d = random(15, 3);
  const auto gradient = reference::rms_norm_backward(d, x, w, 1e-2);
  expect_gradient([&](const Doubles& v) { return inner(d, reference::rms_norm(v, w, 1e-2)); }, x,
                  gradient.x);
  expect_gradient([&](const Doubles& v) { return inner(d, reference::rms_norm(x, v, 1e-2)); }, w,
                  gradient.weight);
}

TEST(Reference, AttentionGradient) {
  for (const int64_t kv_heads : {1, 2, 4}) {
    const reference::Heads s{2, 3, 4, kv_heads, 2};
    const Doubles qkv = random(2 * 3 * s.all() * 2, 4), d = random(2 * 3 * 4 * 2, 5);
    expect_gradient([&](const Doubles& v) { return inner(d, reference::attention(v, s).out); }, qkv,
                    reference::attention_backward(d, qkv, s));
  }
}

TEST(Reference, SwigluGradient) {
  const Doubles x = random(24, 6), d = random(12, 7);
  expect_gradient([&](const Doubles& v) { return inner(d, reference::swiglu(v, 4)); }, x,
                  reference::swiglu_backward(d, x, 4));
}

TEST(Reference, CrossEntropyGradient) {
  const Doubles x = random(20, 8);
  const reference::Ints targets{3, -1, 0, 4};
  expect_gradient(
      [&](const Doubles& v) {
        return 0.5 * inner(reference::cross_entropy(v, targets, 1).losses, Doubles(4, 1));
      },
      x, reference::cross_entropy(x, targets, 0.5).gradient);
}

}  // namespace
}  // namespace dashlm::testing
