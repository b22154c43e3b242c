// The machine's own speed limit, measured: what rates are compared with.
#pragma once

#include "device/device.h"

namespace dashlm {

// Floating-point operations per second of the vendor library's f32 product of two large square
// matrices on all threads: the best of `repeats`.
double measure_matmul_peak(Device& device, int repeats = 5);

}  // namespace dashlm
