#include "ops/core/cpu/openblas.h"

#include <gtest/gtest.h>

#include "ops/core/cpu_kernels.h"

namespace dashlm::testing {
namespace {

using cpu::better_openblas_core;
using cpu::InstructionSet;

TEST(OpenblasCore, ALesserOneThanTheProcessorIsReplaced) {
  EXPECT_EQ(better_openblas_core("Prescott", InstructionSet::avx512), "SkylakeX");
  EXPECT_EQ(better_openblas_core("Prescott", InstructionSet::avx2), "Haswell");
  EXPECT_EQ(better_openblas_core("Sandybridge", InstructionSet::avx2), "Haswell");
  EXPECT_EQ(better_openblas_core("Haswell", InstructionSet::avx512), "SkylakeX");
  EXPECT_EQ(better_openblas_core("Zen", InstructionSet::avx512), "SkylakeX");
}

TEST(OpenblasCore, OneThatFitsOrIsUnknownStays) {
  EXPECT_EQ(better_openblas_core("Prescott", InstructionSet::baseline), "");
  EXPECT_EQ(better_openblas_core("Nehalem", InstructionSet::baseline), "");
  EXPECT_EQ(better_openblas_core("Haswell", InstructionSet::avx2), "");
  EXPECT_EQ(better_openblas_core("Zen", InstructionSet::avx2), "");
  for (const char* core : {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen5", "NEOVERSEN1"}) {
    EXPECT_EQ(better_openblas_core(core, InstructionSet::avx512), "") << core;
  }
}

TEST(CpuKernels, AreNamed) {
  const CpuKernels kernels = cpu_kernels();
  EXPECT_EQ(kernels.products, enum_name(cpu::instruction_set()));
  EXPECT_EQ(kernels.openblas.rfind("OpenBLAS ", 0), 0u) << kernels.openblas;
}

}  // namespace
}  // namespace dashlm::testing
