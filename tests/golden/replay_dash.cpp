// dash_METHOD_fF: weights after each step of the published DASH optimizer, gradients given.
#include "golden/methods.h"
#include "golden/replay_steps.h"
#include "support/optimizer_settings.h"

namespace dashlm::golden {
namespace {

OptimizerConfig recorded_config(const Recording& recording) {
  OptimizerConfig config("dash");
  block_shampoo(config).block_size = recording.integer("block_size");
  block_shampoo(config).inverse_root = recorded_method(recording.text("method"));
  block_shampoo(config).vectors = VectorRule::shampoo;
  block_shampoo(config).beta_g = recording.number("beta_g");
  block_shampoo(config).beta_factors = recording.number("beta_lr");
  block_shampoo(config).beta_graft = recording.number("beta_graft");
  block_shampoo(config).graft_eps = recording.number("eps_grafting");
  block_shampoo(config).momentum = recording.number("mu");
  block_shampoo(config).weight_decay = recording.number("weight_decay");
  block_shampoo(config).frequency = recording.integer("inv_root_freq");
  block_shampoo(config).start = std::max<int64_t>(1, recording.integer("start_prec_step"));
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
