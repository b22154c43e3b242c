// Registers of 16 bytes, as every 64-bit processor has: SSE2, NEON.
#define DASHLM_VECTOR 4
#define DASHLM_ROWS 6
#define DASHLM_VECTORS 2
#include "ops/core/cpu/micro_kernel_body.h"

namespace dashlm::cpu {
const MicroKernel kBaselineMicroKernel = kKernel;
}
