#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <vector>

namespace dashlm {
namespace {

// The known-answer vectors that come with the authors' Random123 library.
TEST(Philox, KnownAnswers) {
  using Four = std::array<uint32_t, 4>;
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Four{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Four{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(
      philox4x32_10({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
      (Four{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

// Pinned: other values would change what every seed of every earlier run means.
TEST(CounterRandom, ValuesStayWhatTheyAre) {
  const CounterRandom random(42, Purpose::weight_init, 3);
  EXPECT_EQ(random.bits(0), 0x2D47BF2AA5B3FB6Eu);
  EXPECT_EQ(random.bits(uint64_t{1} << 40), 0x148B92D3203BF955u);
  EXPECT_DOUBLE_EQ(random.uniform(0), std::ldexp(static_cast<double>(random.bits(0) >> 11), -53));
}

TEST(CounterRandom, IsAFunctionOfItsArguments) {
  const CounterRandom a(1, Purpose::test, 2), b(1, Purpose::test, 2);
  const double later = a.normal(1000);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(a.bits(i), b.bits(i));
  EXPECT_EQ(b.normal(1000), later);
}

TEST(CounterRandom, EveryArgumentMatters) {
  std::set<uint64_t> values;
  size_t streams = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, ~uint64_t{0}}) {
    for (const Purpose purpose :
         {Purpose::weight_init, Purpose::epoch_permutation, Purpose::test}) {
      for (const uint64_t step : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
        for (const uint64_t element : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
          values.insert(CounterRandom(seed, purpose, step).bits(element));
          ++streams;
        }
      }
    }
  }
  EXPECT_EQ(values.size(), streams);
}

// --- statistics: bounds are five standard deviations of the estimate ----------------------------

constexpr int64_t kSamples = 200'000;

double mean_of(const std::function<double(uint64_t)>& value) {
  double sum = 0;
  for (int64_t i = 0; i < kSamples; ++i) sum += value(static_cast<uint64_t>(i));
  return sum / static_cast<double>(kSamples);
}

double five_sigma(double variance) {
  return 5 * std::sqrt(variance / static_cast<double>(kSamples));
}

TEST(CounterRandom, UniformHasItsMoments) {
  const CounterRandom random(7, Purpose::test);
  double low = 1, high = 0;
  const double mean = mean_of([&](uint64_t i) {
    const double x = random.uniform(i);
    low = std::min(low, x);
    high = std::max(high, x);
    return x;
  });
  EXPECT_NEAR(mean, 0.5, five_sigma(1.0 / 12));
  EXPECT_NEAR(mean_of([&](uint64_t i) { return std::pow(random.uniform(i) - 0.5, 2); }), 1.0 / 12,
              five_sigma(1.0 / 180));
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_LT(low, 1e-3);
  EXPECT_GT(high, 1 - 1e-3);
}

TEST(CounterRandom, UniformFillsItsBinsEvenly) {
  constexpr size_t kBins = 256;
  const CounterRandom random(7, Purpose::test, 1);
  std::vector<double> counts(kBins);
  for (int64_t i = 0; i < kSamples; ++i) {
    ++counts[static_cast<size_t>(random.uniform(static_cast<uint64_t>(i)) * kBins)];
  }
  const double expected = static_cast<double>(kSamples) / kBins;
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
  constexpr double kFreedom = kBins - 1;
  EXPECT_NEAR(chi2, kFreedom, 5 * std::sqrt(2 * kFreedom));
}

TEST(CounterRandom, NormalHasItsMoments) {
  const CounterRandom random(8, Purpose::test);
  EXPECT_NEAR(mean_of([&](uint64_t i) { return random.normal(i); }), 0, five_sigma(1));
  EXPECT_NEAR(mean_of([&](uint64_t i) { return std::pow(random.normal(i), 2); }), 1, five_sigma(2));
  EXPECT_NEAR(mean_of([&](uint64_t i) { return std::pow(random.normal(i), 3); }), 0,
              five_sigma(15));
  EXPECT_NEAR(mean_of([&](uint64_t i) { return std::pow(random.normal(i), 4); }), 3,
              five_sigma(96));
  const double tail = std::erfc(3 / std::sqrt(2.0));  // P(|x| > 3)
  EXPECT_NEAR(mean_of([&](uint64_t i) { return std::abs(random.normal(i)) > 3 ? 1.0 : 0.0; }), tail,
              five_sigma(tail));
}

// Counts that are and are not whole chunks, and elements on both sides of 32 bits.
TEST(CounterRandom, FillingEqualsDrawingOneByOne) {
  const CounterRandom random(10, Purpose::test, 5);
  for (const size_t count : {0, 1, 255, 256, 257, 1000}) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{77}, (uint64_t{1} << 32) - 100}) {
      std::vector<float> filled(count), drawn;
      random.fill_normal(filled, 0.02, first);
      for (uint64_t i = 0; i < count; ++i) {
        drawn.push_back(static_cast<float>(0.02 * random.normal(first + i)));
      }
      EXPECT_EQ(filled, drawn) << count << " from " << first;
    }
  }
}

// Correlation of two streams; for independent ones a normal number of variance 1 / kSamples.
void expect_uncorrelated(const CounterRandom& a, const CounterRandom& b, uint64_t shift = 0) {
  EXPECT_NEAR(mean_of([&](uint64_t i) { return a.normal(i) * b.normal(i + shift); }), 0,
              five_sigma(1));
}

TEST(CounterRandom, PurposesSeedsStepsAndElementsAreIndependent) {
  const CounterRandom base(1, Purpose::weight_init, 0);
  for (const Purpose purpose : {Purpose::epoch_permutation, Purpose::epoch_offset,
                                Purpose::sampling, Purpose::power_iteration, Purpose::benchmark}) {
    expect_uncorrelated(base, CounterRandom(1, purpose, 0));
  }
  expect_uncorrelated(base, CounterRandom(2, Purpose::weight_init, 0));
  expect_uncorrelated(base, CounterRandom(1, Purpose::weight_init, 1));
  expect_uncorrelated(base, base, 1);
}

TEST(CounterRandom, BelowIsEvenAndInRange) {
  const CounterRandom random(9, Purpose::test);
  constexpr uint64_t kBound = 7;
  std::vector<double> counts(kBound);
  for (int64_t i = 0; i < kSamples; ++i) {
    const uint64_t value = random.below(kBound, static_cast<uint64_t>(i));
    ASSERT_LT(value, kBound);
    ++counts[value];
  }
  const double p = 1.0 / kBound;
  for (const double count : counts) {
    EXPECT_NEAR(count / static_cast<double>(kSamples), p, five_sigma(p * (1 - p)));
  }
  const uint64_t large = (uint64_t{1} << 63) + 1;
  double sum = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(random.below(1, i), 0u);
    ASSERT_LT(random.below(large, i), large);
    sum += static_cast<double>(random.below(large, i)) / static_cast<double>(large);
  }
  EXPECT_NEAR(sum / 1000, 0.5, 5 * std::sqrt(1.0 / 12 / 1000));
}

}  // namespace
}  // namespace dashlm
