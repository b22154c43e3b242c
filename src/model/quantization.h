// Rounds weights to few bits, to evaluate a compressed model.
//
// Rounding is symmetric and to nearest. All weights w of a group share the scale s = max|w| / L
// with L = 127 (int8) or 7 (int4). w becomes s · q, where q is w / s rounded to the nearest whole
// number, halves to the even number. So |q| <= L, and 0 stays 0. A group is a row of the matrix,
// which is one output channel, or a part of a row.
#pragma once

#include <span>
#include <utility>

#include "config/schema.h"
#include "device/device.h"
#include "model/parameters.h"

namespace dashlm {

enum class WeightFormat { int8, int4 };

template <>
struct EnumNames<WeightFormat> {
  static constexpr std::pair<WeightFormat, const char*> names[] = {
      {WeightFormat::int8, "int8"},
      {WeightFormat::int4, "int4"},
  };
};

struct Quantization {
  WeightFormat format = WeightFormat::int8;
  // The number of consecutive weights of a row that share a scale; 0 means the whole row. The last
  // group of a row has the rest.
  int64_t group = 0;

  float levels() const { return format == WeightFormat::int8 ? 127.0f : 7.0f; }  // L
};

// Rounds `matrix`, rows of `columns` weights. All arithmetic is f32.
void round_weights(const Quantization& quantization, std::span<float> matrix, int64_t columns);

struct RoundingError {
  int64_t weights = 0;  // number of rounded weights
  double relative = 0;  // ‖rounded - original‖ / ‖original‖ over all of them together
};

// Rounds the matrices of all layers within `weights` (flat, f32 or bf16, on `device`). Embedding,
// head and norms stay as they are. bf16 weights are rounded to bf16 once more, since the model
// computes in bf16.
RoundingError quantize_layers(Device& device, const ParameterLayout& layout, const Tensor& weights,
                              const Quantization& quantization);

}  // namespace dashlm
