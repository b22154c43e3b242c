#include "model/quantization.h"

#include "support/tiny_llama.h"

namespace dashlm::testing {
namespace {

using Floats = std::vector<float>;

constexpr Quantization kInt8{WeightFormat::int8, 0}, kInt4{WeightFormat::int4, 0};

Floats rounded(const Quantization& quantization, Floats matrix, int64_t columns) {
  round_weights(quantization, matrix, columns);
  return matrix;
}

Floats normal(int64_t count, uint64_t stream = 0) {
  const CounterRandom random(11, Purpose::test, stream);
  Floats x;
  for (int64_t i = 0; i < count; ++i) {
    x.push_back(static_cast<float>(random.normal(static_cast<uint64_t>(i))));
  }
  return x;
}

double distance(const Floats& a, const Floats& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return std::sqrt(squares);
}

// Scales of 1, 2 and 1/4, so that every value is exact.
TEST(Quantization, OfNumbersThatOneCanCheckByHand) {
  EXPECT_EQ(rounded(kInt8, {127, 0.5f, 1.5f, -63.4f, 0}, 5), (Floats{127, 0, 2, -63, 0}));
  EXPECT_EQ(rounded(kInt4, {-7, 3.5f, 2.5f, 2.6f, -0.4f}, 5), (Floats{-7, 4, 2, 3, 0}));
  EXPECT_EQ(rounded(kInt4, {14, 5.1f, -2.9f, 1.75f, 0.3f, -0.1f}, 3),
            (Floats{14, 6, -2, 1.75f, 0.25f, 0}));
  // Two to a group, and one alone at the end of each row.
  const Floats rows = {14, 3.1f, 0.3f, -1.75f, 7, 7, 1.2f, 1.75f, -0.6f, 3.5f};
  EXPECT_EQ(rounded({WeightFormat::int4, 2}, rows, 5),
            (Floats{14, 4, 0.25f, -1.75f, 7, 7, 1, 1.75f, -0.5f, 3.5f}));
}

TEST(Quantization, RoundsToTheNearestStepOfTheGroup) {
  constexpr int64_t kRows = 9, kColumns = 300;
  const Floats before = normal(kRows * kColumns);
  for (const Quantization& q : {kInt8, kInt4, Quantization{WeightFormat::int8, 128},
                                Quantization{WeightFormat::int4, 128}}) {
    const int64_t group = q.group > 0 ? q.group : kColumns;
    const double levels = q.format == WeightFormat::int8 ? 127 : 7;
    const Floats after = rounded(q, before, kColumns);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const int64_t first = i - i % kColumns % group;
      const int64_t last = std::min(first + group, (i / kColumns + 1) * kColumns);
      double largest = 0;
      for (int64_t j = first; j < last; ++j) {
        largest = std::max(largest, std::abs(static_cast<double>(before[static_cast<size_t>(j)])));
      }
      const double step = largest / levels;
      const auto w = static_cast<double>(before[static_cast<size_t>(i)]);
      const auto w_rounded = static_cast<double>(after[static_cast<size_t>(i)]);
      const double steps = w_rounded / step;
      EXPECT_NEAR(steps, std::round(steps), 1e-6 * levels) << i;
      EXPECT_LE(std::abs(w_rounded - w), 0.5 * step * (1 + 1e-6 * levels)) << i;
    }
  }
}

TEST(Quantization, MoreLevelsAndSmallerGroupsAreCloser) {
  const Floats x = normal(64 * 512);
  const auto error = [&](const Quantization& q) { return distance(rounded(q, x, 512), x); };
  const double int8 = error(kInt8), int4 = error(kInt4), groups = error({WeightFormat::int4, 128});
  EXPECT_LT(int8 * 15, int4);  // the scales differ by 127 / 7 = 18
  EXPECT_GT(int8 * 21, int4);
  EXPECT_LT(groups, int4 * 0.95);
  EXPECT_EQ(error({WeightFormat::int4, 512}), int4);
  EXPECT_EQ(error({WeightFormat::int4, 1000000}), int4);
}

TEST(Quantization, OddValuesStayWithinTheirGroup) {
  Floats x = normal(40);
  x[3] = kNaN;
  for (size_t i = 10; i < 20; ++i) x[i] = 0;
  for (size_t i = 20; i < 30; ++i) x[i] = 1e-40f;
  const Floats after = rounded(kInt8, x, 10);
  EXPECT_TRUE(std::isnan(after[3]));
  for (size_t i = 0; i < 40; ++i) EXPECT_TRUE(i == 3 || std::isfinite(after[i])) << i;
  for (size_t i = 10; i < 30; ++i) EXPECT_EQ(after[i], 0.0f) << i;
}

class QuantizedLayers : public ::testing::TestWithParam<DType> {};

TEST_P(QuantizedLayers, AreTheirMatricesAlone) {
  ModelConfig config{
      .n_layer = 2, .d_model = 24, .n_head = 2, .d_ff = 40, .vocab_size = 31, .seq_len = 8};
  config.resolve();
  const ParameterLayout layout = llama_parameters(config);
  Lab lab;
  const Tensor weights = lab.normal("weights", {layout.elements()}, 1, 0, GetParam());
  const Tensor before = lab.copy("before", weights);
  const RoundingError error = quantize_layers(lab.device(), layout, weights, kInt4);

  double changes = 0, squares = 0;
  int64_t rounded_weights = 0;
  for (const Parameter& p : layout.parameters()) {
    const Tensor x = ParameterLayout::view(before, p), y = ParameterLayout::view(weights, p);
    Doubles old_values = values(x), new_values = values(y);
    const bool matrix_of_layer = p.name.starts_with("layer") && p.name.find("norm") == p.name.npos;
    EXPECT_EQ(old_values != new_values, matrix_of_layer) << p.name;
    if (!matrix_of_layer) continue;
    Floats wanted(old_values.begin(), old_values.end());
    round_weights(kInt4, wanted, p.shape[1]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double stored = GetParam() == DType::bf16
                                ? static_cast<double>(static_cast<float>(Bf16(wanted[i])))
                                : static_cast<double>(wanted[i]);
      ASSERT_EQ(new_values[i], stored) << p.name << " " << i;
      changes += std::pow(new_values[i] - old_values[i], 2);
      squares += std::pow(old_values[i], 2);
    }
    rounded_weights += p.elements();
  }
  EXPECT_EQ(error.weights, rounded_weights);
  EXPECT_NEAR(error.relative, std::sqrt(changes / squares), 1e-12);
  lab.expect_guards_intact();
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedLayers, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace dashlm::testing
