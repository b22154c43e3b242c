// How commands print results. A result is a struct with two functions: text_of() makes text for
// people, json_of() makes the output of --json.
#pragma once

#include <iostream>
#include <string>

#include "config/config.h"
#include "ops/core/cpu_kernels.h"

namespace dashlm {

// Writes a result to the standard output. `indent` is the indentation of JSON; -1 writes one line.
template <class Report>
void print_report(const Report& report, bool json, int indent = -1) {
  std::cout << (json ? json_of(report).dump(indent) + "\n" : text_of(report)) << std::flush;
}

// A line for each key, with its value as JSON.
std::string lines_of(const Json& json);

// {"products": "avx512", "openblas": "OpenBLAS 0.3.21 SkylakeX"[, "warning": …]}
Json json_of(const CpuKernels& kernels);

// "953,223,168"
std::string with_separators(int64_t value);

}  // namespace dashlm
