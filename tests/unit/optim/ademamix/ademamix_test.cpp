// AdEMAMix against its formulas in float64.
#include "optim/ademamix/ademamix.h"

#include <cmath>

#include "support/expect_error.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

struct Reference {
  AdemamixConfig config;
  std::vector<double> weights, fast, slow, variance;

  Reference(const AdemamixConfig& set, const std::vector<float>& start)
      : config(set),
        weights(start.begin(), start.end()),
        fast(start.size()),
        slow(start.size()),
        variance(start.size()) {}

  // β₃ and α written out once more, from the half-lives: that of the slow average grows linearly.
  double alpha(double t) const {
    const auto warmup = static_cast<double>(config.alpha_warmup);
    return warmup > 0 ? config.alpha * std::min(1.0, t / warmup) : config.alpha;
  }
  double beta3(double t) const {
    if (config.beta3_warmup == 0) return config.beta3;
    const double part = std::min(1.0, t / static_cast<double>(config.beta3_warmup));
    const auto half_life = [](double beta) { return std::log(0.5) / std::log(beta); };
    const double now = (1 - part) * half_life(config.beta1) + part * half_life(config.beta3);
    return std::pow(0.5, 1 / now);
  }

  void update(int64_t update, double lr, const Tensor& gradients, size_t begin, bool decays) {
    const auto t = static_cast<double>(update);
    const double b3 = beta3(t), a = alpha(t);
    for (int64_t k = 0; k < gradients.elements(); ++k) {
      const size_t i = begin + static_cast<size_t>(k);
      const double g = gradients.f32()[k];
      fast[i] = config.beta1 * fast[i] + (1 - config.beta1) * g;
      slow[i] = b3 * slow[i] + (1 - b3) * g;
      variance[i] = config.beta2 * variance[i] + (1 - config.beta2) * g * g;
      const double m = fast[i] / (1 - std::pow(config.beta1, t)) + a * slow[i];
      const double v = variance[i] / (1 - std::pow(config.beta2, t));
      if (decays) weights[i] *= 1 - lr * config.weight_decay;
      weights[i] -= lr * m / (std::sqrt(v) + config.eps);
    }
  }
};

void compare(const AdemamixConfig& settings, int64_t updates) {
  OptimizerConfig config("ademamix");
  config.get<AdemamixConfig>() = settings;
  StepLab lab(config);
  const std::vector<float> start = lab.weights();
  Reference reference(settings, start);
  for (int64_t t = 1; t <= updates; ++t) {
    lab.set_gradients(t);
    for (size_t p = 0; p < lab.layout().parameters().size(); ++p) {
      const Parameter& parameter = lab.layout().parameters()[p];
      reference.update(t, 0.1, lab.gradient(p), static_cast<size_t>(parameter.offset),
                       parameter.is_matrix() || settings.decay_vectors);
    }
    lab.update(t);
  }
  const std::vector<float> weights = lab.weights();
  double difference = 0, moved = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    difference += std::pow(double{weights[i]} - reference.weights[i], 2);
    moved += std::pow(reference.weights[i] - double{start[i]}, 2);
  }
  EXPECT_LT(std::sqrt(difference / moved), 2e-6);
}

TEST(Ademamix, FollowsItsFormula) {
  compare({.block_size = 4}, 12);
  compare({.beta3 = 0.99, .alpha = 8, .weight_decay = 0.3, .block_size = 5}, 12);
  compare({.weight_decay = 0.3, .decay_vectors = true, .block_size = 5}, 3);
  compare({.beta1 = 0, .alpha = 2, .block_size = 4}, 5);
}

TEST(Ademamix, AlphaAndBetaRiseDuringWarmup) {
  compare({.beta3 = 0.999, .alpha_warmup = 8, .beta3_warmup = 5, .block_size = 4}, 12);
  const AdemamixConfig config{.alpha_warmup = 1000, .beta3_warmup = 1000};
  EXPECT_DOUBLE_EQ(config.alpha_at(500), 2.5);
  EXPECT_DOUBLE_EQ(config.alpha_at(2000), 5);
  EXPECT_DOUBLE_EQ(config.beta3_at(1000), config.beta3);
  EXPECT_NEAR(AdemamixConfig{.beta3_warmup = 1000000}.beta3_at(1), config.beta1, 1e-4);
}

// With α = 0 the slow average has no say: Adam.
TEST(Ademamix, WithoutTheSlowAverageItIsAdamw) {
  StepLab mixed(optimizer_config(R"({"type": "ademamix", "alpha": 0, "beta2": 0.95,
                                     "weight_decay": 0.1, "block_size": 4})"));
  StepLab adamw(optimizer_config(R"({"type": "adamw", "weight_decay": 0.1, "block_size": 4})"));
  const std::vector<float> start = mixed.weights();
  mixed.run(6);
  adamw.run(6);
  EXPECT_LT(relative_difference(movement(start, mixed.weights()), movement(start, adamw.weights())),
            1e-6);
}

TEST(Ademamix, ClippingScalesTheGradient) {
  const OptimizerConfig config = optimizer_config(R"({"type": "ademamix", "eps": 1e-2})");
  StepLab clipped(config), small(config);
  clipped.set_gradients(1, 8e-2);
  clipped.update(1, 0.1, 0.125);
  small.set_gradients(1, 1e-2);
  small.update(1);
  EXPECT_LT(relative_difference(clipped.weights(), small.weights()), 1e-5);
}

TEST(Ademamix, StateContinuesARun) {
  const OptimizerConfig config =
      optimizer_config(R"({"type": "ademamix", "alpha_warmup": 5, "block_size": 4})");
  StepLab whole(config), second(config);
  whole.run(2);
  for (size_t p = 0; p < whole.layout().parameters().size(); ++p) {
    std::copy_n(whole.weight(p).f32(), whole.weight(p).elements(), second.weight(p).f32());
  }
  int64_t bytes = 0;
  for (const Tensor& from : whole.optimizer().state()) {
    const Tensor to = second.state(from.name);
    std::copy_n(from.f32(), from.elements(), to.f32());
    bytes += from.bytes();
  }
  EXPECT_EQ(bytes, 12 * whole.layout().elements());
  for (StepLab* lab : {&whole, &second}) {
    lab->set_gradients(3);
    lab->update(3);
  }
  EXPECT_EQ(whole.weights(), second.weights());
}

TEST(Ademamix, WarnsOfAWarmupThatDoesNotEnd) {
  const OptimizerConfig config =
      optimizer_config(R"({"type": "ademamix", "alpha_warmup": 11, "beta3_warmup": 11})");
  EXPECT_EQ(config.warnings(11).size(), 0u);
  EXPECT_EQ(config.warnings(10).size(), 2u);
}

}  // namespace
}  // namespace dashlm::testing
