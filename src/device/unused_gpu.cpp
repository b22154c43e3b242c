#include "device/unused_gpu.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#ifdef DASHLM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#endif

namespace dashlm {
namespace fs = std::filesystem;

bool machine_has_nvidia_gpu(const std::string& root) {
  std::error_code error;  // for folders that do not exist
  for (const auto& entry : fs::directory_iterator(root + "/dev", error)) {
    const std::string name = entry.path().filename().string();  // nvidia0, nvidia1, ...
    if (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(name[6])) return true;
  }
  return fs::directory_iterator(root + "/proc/driver/nvidia/gpus", error) !=
         fs::directory_iterator();
}

std::string why_no_gpu_answers() {
#ifdef DASHLM_HAS_CUDA
  std::string why = fmt::format("no GPU answers (CUDA says: {})", cuda::device_count_error());
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    why += fmt::format(" while CUDA_VISIBLE_DEVICES is \"{}\"", visible);
  }
  return why;
#else
  return "this build has no CUDA backend (`scripts/build.sh cuda` makes one that has, "
         "build/cuda/dashlm)";
#endif
}

}  // namespace dashlm
