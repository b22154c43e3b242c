// The parity table: every operation of src/ops, in each element type it takes, at sizes that are
// odd, that fill vectors, and (large) that are those of Llama-953M, with the error that two right
// implementations may be apart.
//
// It is compared bf16 against fp32 on the CPU, CUDA under tests/host_cuda against the CPU
// (parity_test.cpp), and on a GPU against the CPU (tests/gpu_check).
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "parity/run.h"

namespace dashlm::parity {

struct Case {
  std::string operation;  // "rms_norm"
  std::string name;       // "rms_norm 3x33 bf16, residual f32"
  std::function<void(Run&)> body;
};

enum class Sizes { small, large };

std::vector<Case> all_cases(Sizes sizes);

// The worst of a case on `device`, compared with `reference`.
Comparison compare_devices(const Case& one, Device& device, Device& reference);
// The same, and the worst of two runs on `device`, of which not one bit may differ.
struct DeviceComparison {
  Comparison reference, again;
};
DeviceComparison compare_devices_and_again(const Case& one, Device& device, Device& reference);
// The same on one device in bf16 and with widened tensors; worst is negative where the case has no
// bf16 tensor.
Comparison compare_widened(const Case& one, Device& device);

// What all_cases() is put together from.
using Cases = std::vector<Case>;
void add_model_cases(Cases& cases, Sizes sizes);
void add_attention_cases(Cases& cases, Sizes sizes);
void add_product_cases(Cases& cases, Sizes sizes);
void add_block_cases(Cases& cases, Sizes sizes);
void add_stack_cases(Cases& cases, Sizes sizes);
void add_root_cases(Cases& cases, Sizes sizes);

// A function add(operation, more, body) for cases of one size, named "operation size" + more.
inline auto adder(Cases& cases, const std::string& size) {
  return [&cases, size](const char* operation, const std::string& more,
                        std::function<void(Run&)> body) {
    cases.push_back({operation, fmt::format("{} {}{}", operation, size, more), std::move(body)});
  };
}

// A stack of square matrices.
struct SquareStack {
  int64_t blocks, n;

  Shape matrices() const { return {blocks, n, n}; }
  std::string text() const { return fmt::format("{}x{}", blocks, n); }
};

// The element types of the model's operations: those of compute and of the residual stream.
struct Types {
  DType compute, residual;
};
const std::vector<Types>& model_types();
std::string text(const Types& types);

}  // namespace dashlm::parity
