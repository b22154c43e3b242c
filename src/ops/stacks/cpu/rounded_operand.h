// Operands of products that are taken in less than fp32, on the CPU.
#pragma once

#include "ops/stacks/stack_linalg.h"

namespace dashlm::cpu {

// `operand` as products in `precision` take it: itself for fp32, else a rounded copy in scratch of
// the blocks that are active. Absent state: all are.
ConstTensor rounded_operand(Context& context, const TensorName& name, const ConstTensor& operand,
                            MatmulPrecision precision, const ConstTensor& state = {});

}  // namespace dashlm::cpu
