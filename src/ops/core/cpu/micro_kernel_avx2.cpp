// 16 registers of 32 bytes, with fused multiply-adds: 12 hold C.
#define DASHLM_VECTOR 8
#define DASHLM_ROWS 6
#define DASHLM_VECTORS 2
#include "ops/core/cpu/micro_kernel_body.h"

namespace dashlm::cpu {
const MicroKernel kAvx2MicroKernel = kKernel;
}
