#include "base/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace dashlm {
namespace {

// 0, 1, ..., n - 1.
std::vector<float> ramp(int64_t n) {
  std::vector<float> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(i));
  return x;
}

// Skewed, and far from 0: sums of plain powers would keep four digits of the fourth moment.
std::vector<float> skewed(int64_t n) {
  const CounterRandom random(5, Purpose::test);
  std::vector<float> x;
  for (int64_t i = 0; i < n; ++i) {
    const double z = random.normal(static_cast<uint64_t>(i));
    x.push_back(static_cast<float>(1000 + z + 0.3 * z * z));
  }
  return x;
}

void expect_near(const Moments& a, const Moments& b, double tolerance) {
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.largest, b.largest);
  EXPECT_NEAR(a.mean, b.mean, tolerance * std::abs(b.mean));
  EXPECT_NEAR(a.sum2, b.sum2, tolerance * b.sum2);
  EXPECT_NEAR(a.sum3, b.sum3, tolerance * std::abs(b.sum3));
  EXPECT_NEAR(a.sum4, b.sum4, tolerance * b.sum4);
}

TEST(Moments, OfDistributionsWithAFormula) {
  const double n = 1001;  // uniform on whole numbers
  const Moments uniform = Moments::of(ramp(1001));
  EXPECT_DOUBLE_EQ(uniform.mean, 500);
  EXPECT_DOUBLE_EQ(uniform.deviation(), std::sqrt((n * n - 1) / 12));
  EXPECT_DOUBLE_EQ(uniform.kurtosis(), 3.0 / 5 * (3 * n * n - 7) / (n * n - 1));
  EXPECT_DOUBLE_EQ(uniform.max_over_rms(), 1000 / std::sqrt(1000.0 * 2001 / 6));

  std::vector<float> rare(1000, 0.0f);  // 1 with probability p: kurtosis 1 / (p (1 - p)) - 3
  rare[17] = -2;
  const Moments spike = Moments::of(rare);
  EXPECT_NEAR(spike.kurtosis(), 1 / (1e-3 * 0.999) - 3, 1e-9);
  EXPECT_NEAR(spike.max_over_rms(), std::sqrt(1000.0), 1e-11);
}

TEST(Moments, AreThoseOfTheDefinition) {
  const std::vector<float> x = skewed(4000);
  long double mean = 0, sums[5] = {};
  for (const float value : x) mean += static_cast<long double>(value) / 4000;
  for (const float value : x) {
    for (int k = 2; k <= 4; ++k) sums[k] += std::pow(static_cast<long double>(value) - mean, k);
  }
  Moments wanted = Moments::of(x);
  wanted.mean = static_cast<double>(mean);
  wanted.sum2 = static_cast<double>(sums[2]);
  wanted.sum3 = static_cast<double>(sums[3]);
  wanted.sum4 = static_cast<double>(sums[4]);
  expect_near(Moments::of(x), wanted, 1e-11);
}

TEST(Moments, OfPartsAddUp) {
  const std::vector<float> x = skewed(3000);
  const std::span<const float> all = x;
  Moments sum;
  for (size_t begin = 0, size = 1; begin < x.size(); begin += size, size *= 3) {
    sum += Moments::of(all.subspan(begin, std::min(size, x.size() - begin)));
    sum += Moments{};
  }
  expect_near(sum, Moments::of(x), 1e-10);
}

TEST(Moments, WithoutSpreadThereIsNoKurtosis) {
  const Moments equal = Moments::of(std::vector<float>(100, 0.1f));
  EXPECT_TRUE(std::isnan(equal.kurtosis()));
  EXPECT_DOUBLE_EQ(equal.max_over_rms(), 1);
  EXPECT_TRUE(std::isnan(Moments::of(std::vector<float>(3, 0.0f)).max_over_rms()));
  EXPECT_TRUE(std::isnan(Moments::of(std::vector<float>{1, INFINITY}).kurtosis()));
  EXPECT_TRUE(std::isnan(Moments::of(std::vector<float>{1, NAN}).max_over_rms()));
}

}  // namespace
}  // namespace dashlm
