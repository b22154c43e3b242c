#include "ops/blocks/adamw.h"

#include "ops/blocks/block_table.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

const AdamwStep kSteps[] = {
    {.lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f},
    {.lr = 1e-2f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .weight_decay = 0.1f},
    {.lr = 1e-2f, .beta1 = 0, .beta2 = 0, .eps = 1e-2f, .gradient_scale = 0.3f},
    {.lr = 3e-2f,
     .beta1 = 0.8f,
     .beta2 = 0.9f,
     .eps = 1e-6f,
     .weight_decay = 2,
     .gradient_scale = 1.7f},
};

// One parameter in float64, with bounds on the float32 errors of its three numbers.
struct Scalar {
  double w, m = 0, v = 0;
  double w_error = 0, m_error = 0;

  // Every new moment is a sum of two products: 3 roundoffs of each part, and the old error decays.
  // v has only positive parts, so its error stays relative: 4 roundoffs times the effective number
  // of steps, halved by the root.
  void update(double g, const AdamwStep& s) {
    const auto lr = static_cast<double>(s.lr), beta1 = static_cast<double>(s.beta1);
    const auto beta2 = static_cast<double>(s.beta2), eps = static_cast<double>(s.eps);
    const auto t = static_cast<double>(s.step);
    g *= static_cast<double>(s.gradient_scale);
    m_error = beta1 * m_error + 3 * kRoundoff * (std::abs(beta1 * m) + std::abs((1 - beta1) * g));
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
    const double denominator = std::sqrt(v_hat) + eps;
    const double keep = 1 - lr * static_cast<double>(s.weight_decay);
    const double change = lr * m_hat / denominator;
    w_error = keep * w_error + 2 * kRoundoff * (std::abs(w) + std::abs(change)) +
              std::abs(change) * kRoundoff * (2 * t + 3) +
              lr * m_error / (1 - std::pow(beta1, t)) / denominator;
    w = keep * w - change;
  }
  double v_error(int64_t steps) const { return 4 * kRoundoff * static_cast<double>(steps) * v; }
};

// The operation on flat tensors, as one block of one row.
void flat_adamw(Context& context, const Tensor& w, const Tensor& g, const Tensor& m,
                const Tensor& v, const AdamwStep& step) {
  std::vector<int64_t> table = {0, w.elements(), 1, w.elements(), 0};
  std::vector<float> one = {1.0f};
  const Shape block{1, 1, w.elements()};
  adamw(context,
        {.weights = w,
         .gradients = g,
         .table = {table.data(), DType::i64, {1, 5}, "table"},
         .lr_scale = {one.data(), DType::f32, {1}, "lr_scale"},
         .moment1 = m.view(block),
         .moment2 = v.view(block)},
        step);
}

TEST(AdamwOperation, FollowsTheFormulaOverSeveralSteps) {
  constexpr int64_t kUpdates = 6;
  for (const AdamwStep& options : kSteps) {
    for (const int64_t size : {1, 7, 1000, (1 << 14) + 3}) {
      SCOPED_TRACE(::testing::Message() << size << " elements, beta1 " << options.beta1);
      Lab lab;
      const Tensor w = lab.normal("w", {size}), g = lab.normal("g", {size});
      const Tensor m = lab.normal("m", {size}, 0), v = lab.normal("v", {size}, 0);
      std::vector<Scalar> scalars;
      for (const double value : values(w)) scalars.push_back({.w = value});
      for (int64_t update = 1; update <= kUpdates; ++update) {
        AdamwStep step = options;
        step.step = update;
        run_everywhere(lab, [&](Context& context) { flat_adamw(context, w, g, m, v, step); });
        for (int64_t i = 0; i < size; ++i) {
          scalars[static_cast<size_t>(i)].update(static_cast<double>(g.f32()[i]), step);
          g.f32()[i] = -0.7f * g.f32()[i] + 0.2f;  // another gradient for the next step
        }
        Doubles expected[3], bound[3];
        for (const Scalar& s : scalars) {
          expected[0].push_back(s.w), bound[0].push_back(s.w_error);
          expected[1].push_back(s.m), bound[1].push_back(s.m_error);
          expected[2].push_back(s.v), bound[2].push_back(s.v_error(update));
        }
        expect_within(w, expected[0], bound[0]);
        expect_within(m, expected[1], bound[1]);
        expect_within(v, expected[2], bound[2]);
      }
    }
  }
}

// A row of the embedding whose token did not occur.
TEST(AdamwOperation, ZeroGradientOnlyDecays) {
  Lab lab;
  const Tensor w = lab.normal("w", {40}), g = lab.normal("g", {40}, 0);
  const Tensor m = lab.normal("m", {40}, 0), v = lab.normal("v", {40}, 0);
  Doubles expected = values(w);
  run(lab, [&](Context& context) {
    flat_adamw(context, w, g, m, v,
               {.lr = 0.5f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .weight_decay = 0.5f});
  });
  for (double& x : expected) x = static_cast<float>(0.75 * x);
  EXPECT_EQ(values(w), expected);
}

// Blocks within a wider matrix and packed ones get what each of their elements would get alone, at
// their own rate; what lies around them stays.
TEST(AdamwOperation, UpdatesBlocksWhereverTheyLie) {
  constexpr int64_t kRows = 70, kCols = 300, kWidth = 1000;
  Lab lab;
  const Tensor w = lab.normal("w", {100 * kWidth}), g = lab.normal("g", {100 * kWidth});
  const Tensor m = lab.normal("m", {2, kRows, kCols}, 0), v = lab.normal("v", {2, kRows, kCols}, 0);
  for (const int64_t row_stride : {kCols, kWidth}) {
    const Tensor before = lab.copy("before", w);
    const BlockPlace places[] = {{5, row_stride, kRows, kCols},
                                 {25 * kWidth + 400, row_stride, kRows, kCols}};
    std::vector<int64_t> table = block_table(places);
    std::vector<float> scale = {1.0f, 0.5f};
    const AdamwStep step{
        .lr = 0.1f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .weight_decay = 0.25f};
    std::fill_n(m.f32(), m.elements(), 0.0f);
    std::fill_n(v.f32(), v.elements(), 0.0f);
    run(lab, [&](Context& context) {
      adamw(context,
            {.weights = w,
             .gradients = g,
             .table = {table.data(), DType::i64, {2, 5}, "table"},
             .lr_scale = {scale.data(), DType::f32, {2}, "lr_scale"},
             .moment1 = m,
             .moment2 = v},
            step);
    });
    const Tensor expected = lab.copy("expected", before);
    const Tensor m1 = lab.normal("m1", {1}), v1 = lab.normal("v1", {1});
    for (int64_t block = 0; block < 2; ++block) {
      AdamwStep scaled = step;
      scaled.lr = step.lr * scale[static_cast<size_t>(block)];
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kCols; ++j) {
          const int64_t at = places[block].offset + i * row_stride + j;
          m1.f32()[0] = v1.f32()[0] = 0;
          run(lab, [&](Context& context) {
            flat_adamw(context, expected.rows(at, 1), g.rows(at, 1), m1, v1, scaled);
          });
          ASSERT_NEAR(m.f32()[(block * kRows + i) * kCols + j], m1.f32()[0],
                      1e-6f * std::abs(m1.f32()[0]));
        }
      }
    }
    expect_within(w, values(expected), Doubles(static_cast<size_t>(w.elements()), 1e-6));
  }
}

TEST(AdamwOperation, ChecksShapes) {
  Lab lab;
  const Tensor w = lab.normal("w", {40}), g = lab.normal("g", {40});
  const Tensor m = lab.normal("m", {2, 4, 5}), v = lab.normal("v", {2, 4, 5});
  const Tensor scale = lab.normal("scale", {2});
  const Tensor table = lab.table("table", {2, 5}, {0, 5, 4, 5, 0, 20, 5, 4, 5, 20});
  expect_shapes_checked(lab, {g, table, scale, m, v}, {},
                        [&](Context& context, const std::vector<Tensor>& t) {
                          adamw(context, {w, t[0], t[1], t[2], t[3], t[4]}, {});
                        });
}

TEST(AdamwOperation, NanStaysInItsElement) {
  Lab lab;
  const Tensor w = lab.normal("w", {50}), g = lab.normal("g", {50});
  const Tensor m = lab.normal("m", {50}, 0), v = lab.normal("v", {50}, 0);
  g.f32()[33] = kNaN;
  run(lab, [&](Context& context) {
    flat_adamw(context, w, g, m, v, {.lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f});
  });
  for (const Tensor& x : {w, m, v}) {
    EXPECT_EQ(count_nan(x), 1);
    EXPECT_TRUE(std::isnan(x.f32()[33]));
  }
}

}  // namespace
}  // namespace dashlm::testing
