// The operations of this room as each backend implements them: with the signature and the meaning
// of the operation itself, but on checked arguments.
#pragma once

#include "ops/core/convert.h"
#include "ops/core/matmul.h"
#include "ops/core/peak.h"
#include "ops/core/reduce.h"

namespace dashlm::cpu {
decltype(dashlm::add_sum) add_sum;
decltype(dashlm::add_sum_of_squares) add_sum_of_squares;
decltype(dashlm::convert) convert;
decltype(dashlm::matmul) matmul;
decltype(dashlm::matmul_add) matmul_add;
decltype(dashlm::measure_matmul_peak) measure_matmul_peak;
}  // namespace dashlm::cpu

namespace dashlm::cuda {
decltype(dashlm::add_sum) add_sum;
decltype(dashlm::add_sum_of_squares) add_sum_of_squares;
decltype(dashlm::convert) convert;
decltype(dashlm::matmul) matmul;
decltype(dashlm::matmul_add) matmul_add;
decltype(dashlm::measure_matmul_peak) measure_matmul_peak;
}  // namespace dashlm::cuda
