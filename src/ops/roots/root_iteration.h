// Steps that all inverse roots share: bringing blocks to a common size, another iteration, failing,
// and storing the roots that succeeded. State bits and invariances are those of stack_linalg.h.
#pragma once

#include "ops/stacks/stack_linalg.h"

namespace dashlm {

// out = factors / unit, where unit (S) is the power of two with max(max |A|, least) / unit in
// [1, 2). So squares neither overflow nor vanish, whatever the magnitude of a block, and the
// division is exact. state (S): kActive, kZero, or kFailed for a block that is not finite.
// out and factors (S, n, n).
void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const ConstTensor& factors, float least);

// Blocks that are neither zero nor failed become active again for another iteration. Blocks that
// had not finished the earlier iteration become late.
void restart_blocks(Context& context, const Tensor& state);

// Active blocks whose `value` (S) is above `limit`, or NaN, have failed.
void fail_above(Context& context, const Tensor& state, const ConstTensor& value, float limit);

// roots = multiplier (S) · result for every block whose result is finite; a zero block gets zero.
// Blocks that failed, before or here, keep their roots. `multiplier` may be absent: 1.
void store_roots(Context& context, const Tensor& roots, const ConstTensor& result,
                 const ConstTensor& multiplier, const Tensor& state);

}  // namespace dashlm
