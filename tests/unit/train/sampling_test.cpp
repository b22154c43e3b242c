// Drawing tokens: frequencies follow the softmax, and each option cuts what it says.
#include "train/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace dashlm::testing {
namespace {

constexpr int kDraws = 20000;

std::vector<double> frequencies(const std::vector<float>& logits, const SamplingConfig& config) {
  std::vector<double> shares(logits.size(), 0.0);
  for (int position = 0; position < kDraws; ++position) {
    shares[static_cast<size_t>(sample_token(logits, config, position))] += 1.0 / kDraws;
  }
  return shares;
}

// Five standard deviations of a binomial share.
double margin(double probability) {
  return 5 * std::sqrt(probability * (1 - probability) / kDraws);
}

TEST(Sampling, FollowsTheSoftmaxAtATemperature) {
  const std::vector<float> logits = {1.0f, -0.5f, 2.0f, 0.0f};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    double total = 0;
    for (const float x : logits) total += std::exp(double{x} / temperature);
    const auto shares = frequencies(logits, {.temperature = temperature, .top_p = 1});
    for (size_t i = 0; i < logits.size(); ++i) {
      const double probability = std::exp(double{logits[i]} / temperature) / total;
      EXPECT_NEAR(shares[i], probability, margin(probability)) << temperature << " " << i;
    }
  }
}

TEST(Sampling, TemperatureZeroTakesTheLikeliestAndTheFirstOfEqualOnes) {
  EXPECT_EQ(sample_token({0.0f, 3.0f, 3.0f}, {.temperature = 0}, 7), 1);
}

TEST(Sampling, TopKAndTopPLeaveTheLikeliestOnly) {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, 3.0f};
  const auto drawn = [&](const SamplingConfig& config) {
    std::set<int32_t> tokens;
    for (int position = 0; position < 2000; ++position) {
      tokens.insert(sample_token(logits, config, position));
    }
    return tokens;
  };
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 2, .top_p = 1}), (std::set<int32_t>{2, 3}));
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 9, .top_p = 1}).size(), 4u);
  // The likeliest has 0.64 of the probability, the two likeliest 0.88.
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.6}), (std::set<int32_t>{3}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.7}), (std::set<int32_t>{2, 3}));
}

TEST(Sampling, IsAFunctionOfSeedAndPosition) {
  const std::vector<float> logits(50, 0.0f);
  const auto text = [&](int64_t seed) {
    std::vector<int32_t> tokens;
    for (int position = 0; position < 20; ++position) {
      tokens.push_back(
          sample_token(logits, {.temperature = 1, .top_p = 1, .seed = seed}, position));
    }
    return tokens;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

}  // namespace
}  // namespace dashlm::testing
