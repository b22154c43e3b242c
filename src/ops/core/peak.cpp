#include "ops/core/peak.h"

#include "ops/core/cpu/kernels.h"
#ifdef DASHLM_HAS_CUDA
#include "ops/core/cuda/operations.h"
#endif

namespace dashlm {

double measure_matmul_peak([[maybe_unused]] Device& device,
                           [[maybe_unused]] MatmulPrecision precision, int repeats) {
#ifdef DASHLM_HAS_CUDA
  if (device.kind() == DeviceKind::cuda) {
    return cuda::measure_matmul_peak(device, precision, repeats);
  }
#endif
  return cpu::measure_matmul_peak(repeats);
}

}  // namespace dashlm
