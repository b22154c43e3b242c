#include "device/device.h"

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace dashlm {

std::unique_ptr<Device> open_device(const std::string& name, int threads, int processes) {
  require(name == "auto" || name == "cpu" || name == "cuda",
          "device is \"{}\", but must be \"auto\", \"cpu\" or \"cuda\"", name);
  require(name != "cuda",
          "device \"cuda\" was asked for, but this build has no CUDA backend; use \"cpu\" or "
          "\"auto\"");
  return std::make_unique<cpu::CpuDevice>(threads, processes);
}

}  // namespace dashlm
