#include "tensor/parameter_layout.h"

#include <utility>

namespace dashlm {

ParameterLayout::ParameterLayout(std::vector<Parameter> parameters)
    : parameters_(std::move(parameters)) {
  for (Parameter& parameter : parameters_) {
    parameter.offset = elements_;
    elements_ += parameter.elements();
  }
}

Tensor ParameterLayout::view(const Tensor& flat, const Parameter& parameter) {
  Tensor tensor = flat.rows(parameter.offset, parameter.elements()).view(parameter.shape);
  tensor.name = parameter.name;
  return tensor;
}

}  // namespace dashlm
