#include "device/device.h"

#include "base/error.h"
#include "base/log.h"
#include "device/cpu/cpu_device.h"
#include "device/unused_gpu.h"
#ifdef DASHLM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#endif

namespace dashlm {

std::unique_ptr<Device> open_device(const std::string& name, int threads, const LocalPlace& place) {
  require(name == "auto" || name == "cpu" || name == "cuda",
          "device is \"{}\", but must be \"auto\", \"cpu\" or \"cuda\"", name);
#ifdef DASHLM_HAS_CUDA
  const int gpus = name == "cpu" ? 0 : cuda::device_count();
  if (gpus > 0) return std::make_unique<cuda::CudaDevice>(place.rank % gpus);
#endif
  require(name != "cuda", "device \"cuda\" was asked for, but {}; use \"cpu\" or \"auto\"",
          why_no_gpu_answers());
  if (name == "auto" && place.rank == 0 && machine_has_nvidia_gpu()) {
    spdlog::warn(
        "COMPUTING ON THE CPU, although this machine has an NVIDIA GPU: {}. Set the device to "
        "\"cpu\" if this is what you want",
        why_no_gpu_answers());
  }
  return std::make_unique<cpu::CpuDevice>(threads, place.size);
}

std::vector<DeviceInfo> list_gpus() {
  std::vector<DeviceInfo> gpus;
#ifdef DASHLM_HAS_CUDA
  for (int i = 0; i < cuda::device_count(); ++i) gpus.push_back(cuda::describe(i));
#endif
  return gpus;
}

}  // namespace dashlm
