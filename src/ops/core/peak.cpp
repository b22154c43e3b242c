#include "ops/core/peak.h"

#include "ops/core/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {

double measure_matmul_peak(Device& device, MatmulPrecision precision, int repeats) {
  return DASHLM_BACKEND(device, measure_matmul_peak)(device, precision, repeats);
}

}  // namespace dashlm
