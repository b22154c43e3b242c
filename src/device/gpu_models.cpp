#include "device/gpu_models.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.h"

namespace dashlm {
namespace {

// The rates come from NVIDIA's data sheets of the SXM forms. The network is one adapter of 200,
// 400, 400, 400 Gbit/s for each GPU, as in the DGX systems built from them.
constexpr GpuModel kModels[] = {
    {"A100", 312e12, 156e12, 19.5e12, 80e9, 2.04e12, 300e9, 25e9},
    {"H100", 989e12, 495e12, 67e12, 80e9, 3.35e12, 450e9, 50e9},
    {"H200", 989e12, 495e12, 67e12, 141e9, 4.8e12, 450e9, 50e9},
    {"B200", 2250e12, 1125e12, 75e12, 180e9, 7.7e12, 900e9, 50e9},
};

}  // namespace

std::span<const GpuModel> gpu_models() {
  return kModels;
}

const GpuModel* gpu_model_of(const std::string& name) {
  // PCIe and other forms have the same names but other rates.
  const bool other_form = name.find("PCIe") != std::string::npos ||
                          name.find("NVL") != std::string::npos ||
                          name.find("MIG") != std::string::npos;
  for (const GpuModel& model : kModels) {
    if (!other_form && name.find(model.name) != std::string::npos) return &model;
  }
  return nullptr;
}

const GpuModel& find_gpu_model(const std::string& name) {
  const auto same_letter = [](char a, char b) { return std::toupper(a) == std::toupper(b); };
  std::string known;
  for (const std::string_view text = name; const GpuModel& model : kModels) {
    if (std::ranges::equal(text, std::string_view(model.name), same_letter)) return model;
    known += (known.empty() ? "" : ", ") + std::string(model.name);
  }
  fail_input("no GPU is called \"{}\"; known are {}", name, known);
}

}  // namespace dashlm
