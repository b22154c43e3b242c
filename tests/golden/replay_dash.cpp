// dash_METHOD_fF: weights after each step of the published DASH optimizer, gradients given.
#include "golden/methods.h"
#include "golden/recording.h"
#include "optim/dash.h"

namespace dashlm::golden {
namespace {

// p0, p1, ... with the shapes of the recording.
ParameterLayout recorded_parameters(const Recording& recording) {
  std::vector<Parameter> parameters;
  for (int i = 0; recording.has(fmt::format("p{}.step0", i)); ++i) {
    const std::string name = fmt::format("p{}", i);
    parameters.push_back({name, recording.shape(name + ".step0"), 0, 0});
  }
  return ParameterLayout(parameters);
}

DashConfig recorded_config(const Recording& recording) {
  DashConfig config;
  config.block_size = recording.integer("block_size");
  config.inverse_root = recorded_method(recording.text("method"));
  config.vectors = VectorRule::shampoo;
  config.beta_g = recording.number("beta_g");
  config.beta_factors = recording.number("beta_lr");
  config.beta_graft = recording.number("beta_graft");
  config.graft_eps = recording.number("eps_grafting");
  config.momentum = recording.number("mu");
  config.weight_decay = recording.number("weight_decay");
  config.frequency = recording.integer("inv_root_freq");
  config.start = std::max<int64_t>(1, recording.integer("start_prec_step"));
  return config;
}

}  // namespace

Replay replay_dash(const Recording& recording) {
  const ParameterLayout layout = recorded_parameters(recording);
  const auto device = open_device("auto");
  Arena state(*device, "state"), scratch(*device, "scratch");
  Context context{*device, scratch};
  Tensor weights, gradients;
  std::unique_ptr<Optimizer> optimizer;
  const auto build = [&] {
    weights = state.take("weights", {layout.elements()});
    gradients = state.take("gradients", {layout.elements()});
    const DashConfig config = recorded_config(recording);
    const std::vector<double> ones(layout.parameters().size(), 1.0);
    optimizer = std::make_unique<Dash>(
        config, cut_into_blocks(layout, config.block_size, config.split_qkv, ones), weights,
        gradients, state, /*seed=*/1);
  };
  const auto load = [&](const Tensor& flat, const std::string& suffix) {
    for (const Parameter& parameter : layout.parameters()) {
      const Tensor part = ParameterLayout::view(flat, parameter);
      device->upload(part.data, recording.floats(parameter.name + suffix).data(), part.bytes());
    }
  };
  build();
  optimizer->update(context, {});
  state.commit();
  scratch.commit();
  build();
  optimizer->initialize(context);
  load(weights, ".step0");

  Replay replay{"dash_" + recording.text("method"), {}};
  const int64_t block = recording.integer("block_size");
  for (int64_t step = 1; step <= recording.integer("steps"); ++step) {
    load(gradients, fmt::format(".grad{}", step));
    optimizer->update(context, {.update = step, .lr = recording.number("lr")});
    for (const Parameter& parameter : layout.parameters()) {
      const std::string name = fmt::format("{}.step{}", parameter.name, step);
      const bool deficient = !parameter.is_matrix() || parameter.shape[0] % block != 0 ||
                             parameter.shape[1] % block != 0;
      const Tensor part = ParameterLayout::view(weights, parameter);
      std::vector<float> got(static_cast<size_t>(part.elements()));
      device->download(got.data(), part.data, part.bytes());
      replay.comparisons.push_back({name, relative_error(got, recording.floats(name)),
                                    tolerance_of(recording.text("method"), deficient)});
    }
  }
  return replay;
}

}  // namespace dashlm::golden
