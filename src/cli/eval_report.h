// The results of `dashlm eval`, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "model/quantization.h"
#include "train/outliers.h"

namespace dashlm {

struct QuantizedEvaluation {
  Quantization quantization;
  RoundingError rounding;
  LossSum loss;  // on the same data, with rounded weights
};

struct EvalReport {
  std::string checkpoint;
  LossSum loss;
  std::optional<QuantizedEvaluation> quantized;
  std::optional<OutlierReport> outliers;  // with the weights before rounding
};

// docs/eval.md has the keys. Numbers that are not finite are null.
Json json_of(const EvalReport& report);
std::string text_of(const EvalReport& report);

}  // namespace dashlm
