#include "device/cpu/instruction_set.h"

#include <cstdlib>

#include "base/error.h"

namespace dashlm::cpu {
namespace {

constexpr const char* kVariable = "DASHLM_INSTRUCTION_SET";

InstructionSet chosen() {
  const InstructionSet best = processor_instruction_set();
  const char* wanted = std::getenv(kVariable);
  if (!wanted || !*wanted) return best;
  for (const auto& [set, name] : EnumNames<InstructionSet>::names) {
    if (name != std::string(wanted)) continue;
    require(set <= best, "{} is \"{}\", but this processor has {} at most", kVariable, name,
            enum_name(best));
    return set;
  }
  fail_input("{} is \"{}\", but must be baseline, avx2 or avx512", kVariable, wanted);
}

}  // namespace

InstructionSet processor_instruction_set() {
#ifdef __x86_64__
  __builtin_cpu_init();
  const auto all = [](auto... supported) { return (supported && ...); };
  if (!all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"))) {
    return InstructionSet::baseline;
  }
  if (all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512cd"),
          __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512dq"),
          __builtin_cpu_supports("avx512vl"))) {
    return InstructionSet::avx512;
  }
  return InstructionSet::avx2;
#else
  return InstructionSet::baseline;
#endif
}

InstructionSet instruction_set() {
  static const InstructionSet set = chosen();
  return set;
}

}  // namespace dashlm::cpu
