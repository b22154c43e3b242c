#include "cli/report.h"

#include <fmt/format.h>

namespace dashlm {

std::string lines_of(const Json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{:<24}{}\n", key, value.dump());
  }
  return text;
}

Json json_of(const CpuKernels& kernels) {
  Json json = {{"products", kernels.products}, {"openblas", kernels.openblas}};
  if (!kernels.warning.empty()) json["warning"] = kernels.warning;
  return json;
}

std::string with_separators(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace dashlm
