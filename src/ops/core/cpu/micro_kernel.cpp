#include "ops/core/cpu/micro_kernel.h"

namespace dashlm::cpu {

const MicroKernel& micro_kernel() {
#ifdef __x86_64__
  switch (instruction_set()) {
    case InstructionSet::avx512:
      return kAvx512MicroKernel;
    case InstructionSet::avx2:
      return kAvx2MicroKernel;
    case InstructionSet::baseline:
      break;
  }
#endif
  return kBaselineMicroKernel;
}

}  // namespace dashlm::cpu
