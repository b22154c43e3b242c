// 32 registers of 64 bytes, with fused multiply-adds: 16 hold C. Tiles of 14 rows would use more of
// them, but are no faster, and divide few matrices evenly.
#define DASHLM_VECTOR 16
#define DASHLM_ROWS 8
#define DASHLM_VECTORS 2
#include "ops/core/cpu/micro_kernel_body.h"

namespace dashlm::cpu {
const MicroKernel kAvx512MicroKernel = kKernel;
}
