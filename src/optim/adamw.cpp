#include "optim/adamw.h"

#include "base/timer.h"
#include "ops/adamw.h"

namespace dashlm {

Adamw::Adamw(const AdamwConfig& config, const ParameterLayout& layout,
             const std::vector<double>& lr_scale, const Tensor& weights, const Tensor& gradients,
             Arena& arena)
    : config_(config),
      layout_(layout),
      lr_scale_(lr_scale),
      weights_(weights),
      gradients_(gradients),
      moment1_(arena.take("adamw.moment1", {layout.elements()})),
      moment2_(arena.take("adamw.moment2", {layout.elements()})) {}

void Adamw::initialize(Context& context) {
  for (const Tensor& moment : {moment1_, moment2_}) {
    context.device.clear(moment.data, moment.bytes());
  }
}

// One tensor per parameter and moment, so that a checkpoint can be read by name.
std::vector<Tensor> Adamw::state() const {
  std::vector<Tensor> tensors;
  for (const Parameter& parameter : layout_.parameters()) {
    for (const Tensor& flat : {moment1_, moment2_}) {
      tensors.push_back(ParameterLayout::view(flat, parameter));
      tensors.back().name = flat.name + "." + parameter.name;
    }
  }
  return tensors;
}

void Adamw::update(Context& context, const UpdateStep& step) {
  const Timer timer;
  for (size_t i = 0; i < layout_.parameters().size(); ++i) {
    if (lr_scale_[i] == 0) continue;
    const Parameter& parameter = layout_.parameters()[i];
    const auto part = [&](const Tensor& flat) { return ParameterLayout::view(flat, parameter); };
    adamw(context, part(weights_), part(gradients_), part(moment1_), part(moment2_),
          {.lr = static_cast<float>(step.lr * lr_scale_[i]),
           .beta1 = static_cast<float>(config_.beta1),
           .beta2 = static_cast<float>(config_.beta2),
           .eps = static_cast<float>(config_.eps),
           .weight_decay = parameter.is_matrix() ? static_cast<float>(config_.weight_decay) : 0.0f,
           .gradient_scale = static_cast<float>(step.gradient_scale),
           .step = step.update});
  }
  times_ = {.update = timer.milliseconds()};
}

}  // namespace dashlm
