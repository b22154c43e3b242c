// OpenBLAS's names for its sets of kernels.
#pragma once

#include <string>

#include "device/cpu/instruction_set.h"

namespace dashlm::cpu {

// The better kernels to ask of OpenBLAS by OPENBLAS_CORETYPE, if it chose `core` by itself. Empty
// if `core` is good enough for this instruction set, or if its name is unknown and so newer than
// this list.
std::string better_openblas_core(const std::string& core, InstructionSet processor);

}  // namespace dashlm::cpu
