#include "golden/replay_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "optim/optimizer_config.h"

namespace dashlm::golden {

ParameterLayout recorded_parameters(const Recording& recording,
                                    const std::function<Shape(const Shape&)>& shape_of) {
  std::vector<Parameter> parameters;
  for (int i = 0; recording.has(fmt::format("p{}.step0", i)); ++i) {
    const std::string name = fmt::format("p{}", i);
    parameters.push_back({name, shape_of(recording.shape(name + ".step0")), 0, 0});
  }
  return ParameterLayout(parameters);
}

void replay_steps(const Recording& recording, const ParameterLayout& layout,
                  const OptimizerConfig& config, const StepCheck& check) {
  const auto device = open_device("auto");
  Arena state(*device, "state"), scratch(*device, "scratch");
  Context context{*device, scratch};
  Tensor weights, gradients;
  std::unique_ptr<Optimizer> optimizer;
  const auto build = [&] {
    weights = state.take("weights", {layout.elements()});
    gradients = state.take("gradients", {layout.elements()});
    optimizer = make_optimizer(
        config, {optimizer_blocks(config, layout), weights, gradients, state, /*seed=*/1});
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
  for (int64_t step = 1; step <= recording.integer("steps"); ++step) {
    load(gradients, fmt::format(".grad{}", step));
    optimizer->update(context, {.update = step, .lr = recording.number("lr")});
    for (const Parameter& parameter : layout.parameters()) {
      const Tensor part = ParameterLayout::view(weights, parameter);
      std::vector<float> host(static_cast<size_t>(part.elements()));
      device->download(host.data(), part.data, part.bytes());
      check(parameter, step, host);
    }
  }
}

double step_error(const std::vector<float>& got, const std::vector<float>& wanted,
                  const std::vector<float>& start) {
  double difference = 0, way = 1e-30;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto target = static_cast<double>(wanted[i]);
    const double error = std::fabs(static_cast<double>(got[i]) - target);
    if (std::isnan(error)) return error;
    difference = std::max(difference, error);
    way = std::max(way, std::fabs(target - static_cast<double>(start[i])));
  }
  return difference / way;
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char *at = text.c_str(), *end = at + text.size(); at < end;) {
    char* after = nullptr;
    const double number = std::strtod(at, &after);
    if (after > at) numbers.push_back(number);
    at = std::max<const char*>(after, at + 1);
  }
  return numbers;
}

}  // namespace dashlm::golden
