#include "tensor/host_copy.h"

#include "tensor/bf16.h"

namespace dashlm {

std::vector<float> to_host(Device& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (tensor.dtype == DType::bf16) {
    std::vector<Bf16> stored(values.size());
    device.download(stored.data(), tensor.data, tensor.bytes());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(stored[i]);
  } else {
    device.download(values.data(), tensor.f32(), tensor.bytes());
  }
  return values;
}

void from_host(Device& device, const Tensor& tensor, std::span<const float> values) {
  if (tensor.dtype == DType::f32) return device.upload(tensor.data, values.data(), tensor.bytes());
  std::vector<Bf16> rounded;
  rounded.reserve(values.size());
  for (const float value : values) rounded.emplace_back(value);
  device.upload(tensor.as<Bf16>(), rounded.data(), tensor.bytes());
}

}  // namespace dashlm
