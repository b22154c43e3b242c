// `dashlm devices`: the processor and the GPUs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "config/config.h"
#include "device/device.h"
#include "device/gpu_models.h"
#include "ops/core/cpu_kernels.h"

namespace dashlm {

Json cpu_kernels_json() {
  const CpuKernels kernels = cpu_kernels();
  Json json = {{"products", kernels.products}, {"openblas", kernels.openblas}};
  if (!kernels.warning.empty()) json["warning"] = kernels.warning;
  return json;
}

namespace {

Json gpu_json(const DeviceInfo& gpu) {
  Json json = {{"name", gpu.name},
               {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
               {"bytes", gpu.memory},
               {"dense_peak_tflops", nullptr}};
  if (const GpuModel* model = gpu_model_of(gpu.name)) {
    json["dense_peak_tflops"] = {
        {"bf16", model->bf16 / 1e12}, {"tf32", model->tf32 / 1e12}, {"fp32", model->fp32 / 1e12}};
  }
  return json;
}

void print(const Json& json) {
  const CpuKernels kernels = cpu_kernels();
  std::cout << fmt::format("cpu   {}\n      {}\n", json["cpu"].get<std::string>(), kernels.text());
  if (!kernels.warning.empty()) std::cout << fmt::format("      warning: {}\n", kernels.warning);
  if (json["gpus"].empty()) std::cout << "no GPU answers (or this build has no CUDA backend)\n";
  size_t index = 0;
  for (const Json& gpu : json["gpus"]) {
    std::string peak = "dense peaks unknown";
    if (const Json& rates = gpu["dense_peak_tflops"]; !rates.is_null()) {
      peak = fmt::format("dense peaks bf16 {:.0f}, tf32 {:.0f}, fp32 {:.1f} TFLOP/s",
                         rates["bf16"].get<double>(), rates["tf32"].get<double>(),
                         rates["fp32"].get<double>());
    }
    std::cout << fmt::format("gpu {} {}, compute capability {}, {:.0f} GiB, {}\n", index++,
                             gpu["name"].get<std::string>(),
                             gpu["compute_capability"].get<std::string>(),
                             gpu["bytes"].get<double>() / (1 << 30), peak);
  }
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "what there is to run on");
  command->add_flag("--json", *as_json, "as JSON");
  command->callback([as_json] {
    Json json = {{"cpu", open_device("cpu")->description()},
                 {"cpu_kernels", cpu_kernels_json()},
                 {"gpus", Json::array()}};
    for (const DeviceInfo& gpu : list_gpus()) json["gpus"].push_back(gpu_json(gpu));
    if (*as_json) {
      std::cout << json.dump(2) << "\n";
    } else {
      print(json);
    }
  });
}

}  // namespace dashlm
