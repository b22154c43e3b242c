#include "parity/table.h"

#include <fmt/format.h>

namespace dashlm::parity {
namespace {

struct Result {
  std::vector<Output> outputs;
  bool uses_bf16 = false;
};

Result run(const Case& one, Device& device, bool widen = false) {
  Run run(device, widen);
  one.body(run);
  return {run.outputs(), run.uses_bf16()};
}

using Compare = Comparison (*)(const Output& got, const Output& want);

// The worst that one of `comparisons` finds.
Comparison worst_of(const std::vector<Output>& got, const std::vector<Output>& want,
                    std::initializer_list<Compare> comparisons) {
  Comparison worst;
  for (const Compare compare_outputs : comparisons) {
    for (size_t i = 0; i < want.size(); ++i) {
      const Comparison comparison = compare_outputs(got[i], want[i]);
      if (worst.output.empty() || comparison.worst > worst.worst) worst = comparison;
    }
  }
  return worst;
}

}  // namespace

std::vector<Case> all_cases(Sizes sizes) {
  Cases cases;
  for (const auto add : {add_model_cases, add_attention_cases, add_product_cases, add_block_cases,
                         add_stack_cases, add_root_cases}) {
    add(cases, sizes);
  }
  return cases;
}

Comparison compare_devices(const Case& one, Device& device, Device& reference) {
  return worst_of(run(one, device).outputs, run(one, reference).outputs,
                  {compare, compare_rounding});
}

DeviceComparison compare_devices_and_again(const Case& one, Device& device, Device& reference) {
  std::vector<Output> first = run(one, device).outputs;
  const Comparison versus =
      worst_of(first, run(one, reference).outputs, {compare, compare_rounding});
  for (Output& output : first) output.bound = kExact;
  return {versus, worst_of(run(one, device).outputs, first, {compare})};
}

Comparison compare_widened(const Case& one, Device& device) {
  const Result rounded = run(one, device);
  if (!rounded.uses_bf16) return {"", -1};
  return worst_of(rounded.outputs, run(one, device, /*widen=*/true).outputs, {compare});
}

const std::vector<Types>& model_types() {
  static const std::vector<Types> types = {
      {DType::f32, DType::f32}, {DType::bf16, DType::f32}, {DType::bf16, DType::bf16}};
  return types;
}

std::string text(const Types& types) {
  return fmt::format("{}, residual {}", name_of(types.compute), name_of(types.residual));
}

}  // namespace dashlm::parity
