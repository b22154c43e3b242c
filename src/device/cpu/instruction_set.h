// The class of the processor's vector units, by which dashlm's own kernels differ.
#pragma once

#include "config/schema.h"

namespace dashlm::cpu {

enum class InstructionSet {
  baseline,  // 16-byte vectors, as every 64-bit processor has
  avx2,      // 32-byte vectors and fused multiply-adds: Intel since Haswell, AMD since Zen
  avx512,    // 64-byte vectors (F, CD, BW, DQ, VL): Intel since Skylake-X, AMD since Zen 4
};

// The best class that this processor and its operating system offer.
InstructionSet processor_instruction_set();

// The class that the kernels use: the processor's, or a lesser one named by the environment
// variable DASHLM_INSTRUCTION_SET, for tests and comparisons. Throws when the variable names no
// class, or a class that the processor lacks.
InstructionSet instruction_set();

}  // namespace dashlm::cpu

namespace dashlm {

template <>
struct EnumNames<cpu::InstructionSet> {
  static constexpr std::pair<cpu::InstructionSet, const char*> names[] = {
      {cpu::InstructionSet::baseline, "baseline"},
      {cpu::InstructionSet::avx2, "avx2"},
      {cpu::InstructionSet::avx512, "avx512"},
  };
};

}  // namespace dashlm
