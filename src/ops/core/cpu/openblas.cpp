#include "ops/core/cpu/openblas.h"

#include <cblas.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "config/schema.h"
#include "ops/core/cpu_kernels.h"

namespace dashlm {
namespace cpu {

// Kernels with AVX, or with the four-operand multiply-adds of AMD before Zen, count as baseline
// here: no processor has those as its best and AVX2 too, but for Excavator's.
std::string better_openblas_core(const std::string& core, InstructionSet processor) {
  static const std::map<std::string, InstructionSet> kCores = {
      {"Prescott", InstructionSet::baseline},
      {"Core2", InstructionSet::baseline},
      {"Penryn", InstructionSet::baseline},
      {"Dunnington", InstructionSet::baseline},
      {"Nehalem", InstructionSet::baseline},
      {"Atom", InstructionSet::baseline},
      {"Sandybridge", InstructionSet::baseline},
      {"Opteron", InstructionSet::baseline},
      {"Opteron_SSE3", InstructionSet::baseline},
      {"Athlon", InstructionSet::baseline},
      {"Barcelona", InstructionSet::baseline},
      {"Bobcat", InstructionSet::baseline},
      {"Nano", InstructionSet::baseline},
      {"Bulldozer", InstructionSet::baseline},
      {"Piledriver", InstructionSet::baseline},
      {"Steamroller", InstructionSet::baseline},
      {"Excavator", InstructionSet::avx2},
      {"Haswell", InstructionSet::avx2},
      {"Zen", InstructionSet::avx2},
  };
  const auto found = kCores.find(core);
  if (found == kCores.end() || found->second >= processor) return "";
  return processor == InstructionSet::avx512 ? "SkylakeX" : "Haswell";
}

}  // namespace cpu

namespace {

constexpr const char* kCoreType = "OPENBLAS_CORETYPE";

std::string better_core() {
  return cpu::better_openblas_core(openblas_get_corename(), cpu::processor_instruction_set());
}

// "OpenBLAS 0.3.21" of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
std::string openblas_version() {
  const std::string config = openblas_get_config();
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

std::string warning_of_kernels() {
  const std::string better = better_core();
  if (better.empty()) return "";
  const char* wanted = std::getenv(kCoreType);
  const std::string advice =
      wanted ? fmt::format("{} is {}: unset it, or install a newer OpenBLAS", kCoreType, wanted)
             : fmt::format("set {}={}, or install a newer OpenBLAS", kCoreType, better);
  return fmt::format(
      "{} runs its kernels for {}, although this processor has {}: eigen-decompositions are slow, "
      "and rates beside the SGEMM peak look too good; "
      "{}",
      openblas_version(), openblas_get_corename(), enum_name(cpu::processor_instruction_set()),
      advice);
}

}  // namespace

std::string CpuKernels::text() const {
  return fmt::format("products by our {} kernels, eigen-decompositions by {}", products, openblas);
}

CpuKernels cpu_kernels() {
  return {enum_name(cpu::instruction_set()),
          fmt::format("{} {}", openblas_version(), openblas_get_corename()), warning_of_kernels()};
}

void restart_with_right_kernels(char** arguments) {
  // ps, top and pkill would know a restarted one as "exe".
  const std::string path = arguments[0] ? arguments[0] : "dashlm";
  prctl(PR_SET_NAME, path.substr(path.rfind('/') + 1).c_str());
  const std::string better = better_core();
  if (better.empty() || std::getenv(kCoreType)) return;
  setenv(kCoreType, better.c_str(), 1);
  execv("/proc/self/exe", arguments);
  unsetenv(kCoreType);  // there is no such file: go on, and warn
}

}  // namespace dashlm
