// The machine's measured peak, with which rates are compared.
#pragma once

#include "device/device.h"
#include "ops/core/precision.h"

namespace dashlm {

// Floating-point operations per second of the vendor library's product of two large square matrices
// with operands of this precision, on all threads: the best of `repeats`. On a CPU it is the f32
// product whatever the precision, since CPUs round operands and then compute in f32.
double measure_matmul_peak(Device& device, MatmulPrecision precision, int repeats = 5);

}  // namespace dashlm
