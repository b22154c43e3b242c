// OpenBLAS's names for its sets of kernels.
#pragma once

#include <string>

#include "device/cpu/instruction_set.h"

namespace dashlm::cpu {

// The kernels that OpenBLAS should be asked for, by OPENBLAS_CORETYPE, where it has chosen those of
// `core` by itself. Empty if they are as good as any for this instruction set, or of an unknown
// name: those are newer than this list.
std::string better_openblas_core(const std::string& core, InstructionSet processor);

}  // namespace dashlm::cpu
