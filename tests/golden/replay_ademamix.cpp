// ademamix_*: weights after each step of the published AdEMAMix, gradients given.
#include "golden/replay_steps.h"
#include "optim/ademamix/config.h"

namespace dashlm::golden {
namespace {

// "None" is no warm-up.
int64_t recorded_warmup(const Recording& recording, const std::string& key) {
  return recording.text(key) == "None" ? 0 : recording.integer(key);
}

OptimizerConfig recorded_config(const Recording& recording) {
  const std::vector<double> betas = numbers_in(recording.text("betas"));
  require(betas.size() == 3, "'{}': betas malformed", recording.path());
  OptimizerConfig config("ademamix");
  AdemamixConfig& settings = config.get<AdemamixConfig>();
  settings.beta1 = betas[0];
  settings.beta2 = betas[1];
  settings.beta3 = betas[2];
  settings.alpha = recording.number("alpha");
  settings.alpha_warmup = recorded_warmup(recording, "alpha_warmup");
  settings.beta3_warmup = recorded_warmup(recording, "beta3_warmup");
  settings.eps = recording.number("eps");
  settings.weight_decay = recording.number("weight_decay");
  settings.decay_vectors = true;
  settings.block_size = 16;
  return config;
}

}  // namespace

// The recordings are fp32, in which the published code and the formula differ by 1.7e-5.
Replay replay_ademamix(const Recording& recording) {
  constexpr double kTolerance = 1.7e-4;
  Replay replay{"ademamix", {}};
  const auto check = [&](const Parameter& parameter, int64_t step,
                         const std::vector<float>& weights) {
    const std::string name = fmt::format("{}.step{}", parameter.name, step);
    replay.comparisons.push_back(
        {name,
         step_error(weights, recording.floats(name), recording.floats(parameter.name + ".step0")),
         kTolerance});
  };
  const auto as_it_is = [](const Shape& shape) { return shape; };
  replay_steps(recording, recorded_parameters(recording, as_it_is), recorded_config(recording),
               check);
  return replay;
}

}  // namespace dashlm::golden
