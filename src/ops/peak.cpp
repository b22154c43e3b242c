#include "ops/peak.h"

#include "ops/cpu/kernels.h"

namespace dashlm {

double measure_matmul_peak(Device&, int repeats) {
  return cpu::measure_matmul_peak(repeats);
}

}  // namespace dashlm
