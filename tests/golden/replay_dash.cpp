// dash_METHOD_fF: weights after each step of the published DASH optimizer, gradients given.
#include "golden/methods.h"
#include "golden/replay_steps.h"

namespace dashlm::golden {
namespace {

OptimizerConfig recorded_config(const Recording& recording) {
  OptimizerConfig config(OptimizerType::dash);
  config.dash.block_size = recording.integer("block_size");
  config.dash.inverse_root = recorded_method(recording.text("method"));
  config.dash.vectors = VectorRule::shampoo;
  config.dash.beta_g = recording.number("beta_g");
  config.dash.beta_factors = recording.number("beta_lr");
  config.dash.beta_graft = recording.number("beta_graft");
  config.dash.graft_eps = recording.number("eps_grafting");
  config.dash.momentum = recording.number("mu");
  config.dash.weight_decay = recording.number("weight_decay");
  config.dash.frequency = recording.integer("inv_root_freq");
  config.dash.start = std::max<int64_t>(1, recording.integer("start_prec_step"));
  return config;
}

}  // namespace

Replay replay_dash(const Recording& recording) {
  const std::string method = recording.text("method");
  Replay replay{"dash_" + method, {}};
  const int64_t block = recording.integer("block_size");
  const auto check = [&](const Parameter& parameter, int64_t step,
                         const std::vector<float>& weights) {
    const std::string name = fmt::format("{}.step{}", parameter.name, step);
    const bool deficient = !parameter.is_matrix() || parameter.shape[0] % block != 0 ||
                           parameter.shape[1] % block != 0;
    replay.comparisons.push_back(
        {name, relative_error(weights, recording.floats(name)), tolerance_of(method, deficient)});
  };
  const auto as_recorded = [](const Shape& shape) { return shape; };
  replay_steps(recording, recorded_parameters(recording, as_recorded), recorded_config(recording),
               check);
  return replay;
}

}  // namespace dashlm::golden
