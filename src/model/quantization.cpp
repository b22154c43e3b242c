#include "model/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/parallel.h"
#include "tensor/host_copy.h"

namespace dashlm {
namespace {

void round_group(std::span<float> group, float levels) {
  float largest = 0;
  for (const float w : group) largest = std::max(largest, std::abs(w));
  const float scale = largest / levels;
  if (scale < std::numeric_limits<float>::min()) {  // 0, or so small that it has few digits
    for (float& w : group) w *= 0.0f;               // NaN stays NaN
    return;
  }
  for (float& w : group) w = scale * std::nearbyint(w / scale);
}

bool is_rounded(const Parameter& parameter) {
  return parameter.is_matrix() && parameter.name != "embed" && parameter.name != "lm_head";
}

// Sums of squares over the weights rounded so far.
struct Squares {
  double difference = 0, original = 0;

  void add(const std::vector<float>& before, const std::vector<float>& after) {
    for (size_t i = 0; i < before.size(); ++i) {
      const auto w = static_cast<double>(before[i]), d = static_cast<double>(after[i]) - w;
      difference += d * d;
      original += w * w;
    }
  }
};

}  // namespace

void round_weights(const Quantization& quantization, std::span<float> matrix, int64_t columns) {
  const int64_t group = quantization.group > 0 ? quantization.group : columns;
  const int64_t rows = static_cast<int64_t>(matrix.size()) / columns;
  cpu::parallel_for(rows, [&](int64_t row) {
    for (int64_t begin = 0; begin < columns; begin += group) {
      const int64_t count = std::min(group, columns - begin);
      round_group(
          matrix.subspan(static_cast<size_t>(row * columns + begin), static_cast<size_t>(count)),
          quantization.levels());
    }
  });
}

RoundingError quantize_layers(Device& device, const ParameterLayout& layout, const Tensor& weights,
                              const Quantization& quantization) {
  RoundingError result;
  Squares squares;
  for (const Parameter& parameter : layout.parameters()) {
    if (!is_rounded(parameter)) continue;
    const Tensor matrix = ParameterLayout::view(weights, parameter);
    const std::vector<float> before = to_host(device, matrix);
    std::vector<float> rounded = before;
    round_weights(quantization, rounded, matrix.dim(1));
    from_host(device, matrix, rounded);
    squares.add(before, to_host(device, matrix));
    result.weights += matrix.elements();
  }
  result.relative = std::sqrt(squares.difference / squares.original);
  return result;
}

}  // namespace dashlm
