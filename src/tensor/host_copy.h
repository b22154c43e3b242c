// Tensors of f32 or bf16 as floats on the host.
#pragma once

#include <span>
#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"

namespace dashlm {

// Waits for all work that was given to the device before.
std::vector<float> to_host(Device& device, const Tensor& tensor);

// `values` has tensor.elements() entries. They are rounded to nearest if the tensor is bf16.
void from_host(Device& device, const Tensor& tensor, std::span<const float> values);

}  // namespace dashlm
