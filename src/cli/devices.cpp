// `dashlm devices`: the processor and the GPUs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"
#include "device/device.h"
#include "device/gpu_models.h"

namespace dashlm {
namespace {

struct MachineReport {
  std::string cpu = open_device("cpu")->description();
  CpuKernels kernels = cpu_kernels();
  std::vector<DeviceInfo> gpus = list_gpus();
};

std::string compute_capability(const DeviceInfo& gpu) {
  return fmt::format("{}.{}", gpu.major, gpu.minor);
}

Json json_of(const DeviceInfo& gpu) {
  Json json = {{"name", gpu.name},
               {"compute_capability", compute_capability(gpu)},
               {"bytes", gpu.memory},
               {"dense_peak_tflops", nullptr}};
  if (const GpuModel* model = gpu_model_of(gpu.name)) {
    json["dense_peak_tflops"] = {
        {"bf16", model->bf16 / 1e12}, {"tf32", model->tf32 / 1e12}, {"fp32", model->fp32 / 1e12}};
  }
  return json;
}

std::string text_of(const DeviceInfo& gpu) {
  const GpuModel* model = gpu_model_of(gpu.name);
  const std::string peak =
      model ? fmt::format("dense peaks bf16 {:.0f}, tf32 {:.0f}, fp32 {:.1f} TFLOP/s",
                          model->bf16 / 1e12, model->tf32 / 1e12, model->fp32 / 1e12)
            : "dense peaks unknown";
  return fmt::format("{}, compute capability {}, {:.0f} GiB, {}", gpu.name, compute_capability(gpu),
                     static_cast<double>(gpu.memory) / (1 << 30), peak);
}

Json json_of(const MachineReport& machine) {
  Json json = {
      {"cpu", machine.cpu}, {"cpu_kernels", json_of(machine.kernels)}, {"gpus", Json::array()}};
  for (const DeviceInfo& gpu : machine.gpus) json["gpus"].push_back(json_of(gpu));
  return json;
}

std::string text_of(const MachineReport& machine) {
  const CpuKernels& kernels = machine.kernels;
  std::string text = fmt::format("cpu   {}\n      {}\n", machine.cpu, kernels.text());
  if (!kernels.warning.empty()) text += fmt::format("      warning: {}\n", kernels.warning);
  if (machine.gpus.empty()) text += "no GPU answers (or this build has no CUDA backend)\n";
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    text += fmt::format("gpu {} {}\n", i, text_of(machine.gpus[i]));
  }
  return text;
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "what there is to run on");
  add_json_option(*command, *as_json);
  command->callback([as_json] { print_report(MachineReport{}, *as_json, /*indent=*/2); });
}

}  // namespace dashlm
