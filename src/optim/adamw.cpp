#include "optim/adamw.h"

#include "ops/adamw.h"

namespace dashlm {

void AdamwConfig::describe(Schema& schema) {
  schema.field("beta1", beta1, "decay of the first moment", {0.0, 1.0});
  schema.field("beta2", beta2, "decay of the second moment", {0.0, 1.0});
  schema.field("eps", eps, "added to the root of the second moment", {0.0, 1.0});
  schema.field("weight_decay", weight_decay, "decoupled weight decay, on matrices only",
               {0.0, 1e3});
}

Adamw::Adamw(const AdamwConfig& config, const ParameterLayout& layout, const Tensor& weights,
             const Tensor& gradients, Arena& arena)
    : config_(config),
      layout_(layout),
      weights_(weights),
      gradients_(gradients),
      moment1_(arena.take("adamw.moment1", {layout.elements()})),
      moment2_(arena.take("adamw.moment2", {layout.elements()})) {}

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
  for (const Parameter& parameter : layout_.parameters()) {
    const auto part = [&](const Tensor& flat) { return ParameterLayout::view(flat, parameter); };
    adamw(context, part(weights_), part(gradients_), part(moment1_), part(moment2_),
          {.lr = static_cast<float>(step.lr),
           .beta1 = static_cast<float>(config_.beta1),
           .beta2 = static_cast<float>(config_.beta2),
           .eps = static_cast<float>(config_.eps),
           .weight_decay = parameter.is_matrix() ? static_cast<float>(config_.weight_decay) : 0.0f,
           .gradient_scale = static_cast<float>(step.gradient_scale),
           .step = step.update});
  }
}

}  // namespace dashlm
