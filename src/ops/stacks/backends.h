// The operations of this room as each backend implements them: with the signature and the meaning
// of the operation itself, but on checked arguments.
#pragma once

#include "ops/stacks/stack_linalg.h"
#include "ops/stacks/symmetric_stack.h"

namespace dashlm::cpu {
decltype(dashlm::add_to_diagonal) add_to_diagonal;
decltype(dashlm::eigenvalue_bound) eigenvalue_bound;
decltype(dashlm::eigh) eigh;
decltype(dashlm::frobenius_norm) frobenius_norm;
decltype(dashlm::from_spectrum) from_spectrum;
decltype(dashlm::identity_plus) identity_plus;
decltype(dashlm::power_iteration) power_iteration;
decltype(dashlm::round_values) round_values;
decltype(dashlm::scaled_power) scaled_power;
decltype(dashlm::symmetric_matmul) symmetric_matmul;
decltype(dashlm::take_rounded) take_rounded;
}  // namespace dashlm::cpu

namespace dashlm::cuda {
decltype(dashlm::add_to_diagonal) add_to_diagonal;
decltype(dashlm::eigenvalue_bound) eigenvalue_bound;
decltype(dashlm::eigh) eigh;
decltype(dashlm::frobenius_norm) frobenius_norm;
decltype(dashlm::from_spectrum) from_spectrum;
decltype(dashlm::identity_plus) identity_plus;
decltype(dashlm::power_iteration) power_iteration;
decltype(dashlm::round_values) round_values;
decltype(dashlm::scaled_power) scaled_power;
decltype(dashlm::symmetric_matmul) symmetric_matmul;
decltype(dashlm::take_rounded) take_rounded;
}  // namespace dashlm::cuda
