// Runs kernels for f32 on tensors that may be bf16. bf16 tensors get f32 stand-ins in scratch
// memory, and results are rounded once. So all arithmetic is f32, as on a GPU, and the CPU needs no
// second set of kernels. The price is memory traffic.
#pragma once

#include <tuple>
#include <vector>

#include "ops/core/backends.h"

namespace dashlm::cpu {

// What a kernel does with a tensor.
struct Read {
  const ConstTensor& tensor;
};
struct Written {
  const Tensor& tensor;
  bool is_read;  // before it is written
};
inline Read reads(const ConstTensor& x) {
  return {x};
}
inline Written writes(const Tensor& x) {
  return {x, false};
}
inline Written updates(const Tensor& x) {
  return {x, true};
}

class StandIns {
 public:
  explicit StandIns(Context& context) : context_(context), scope_(context.scratch) {}

  ConstTensor operator()(const Read& access) {
    const ConstTensor& x = access.tensor;
    if (x.dtype != DType::bf16) return x;
    const Tensor wide = context_.scratch.take(x.name, x.shape);
    context_.compute(convert, context_, wide, x);
    return wide;
  }
  Tensor operator()(const Written& access) {
    const Tensor& x = access.tensor;
    if (x.dtype != DType::bf16) return x;
    const Tensor wide = context_.scratch.take(x.name, x.shape);
    if (access.is_read) context_.compute(convert, context_, wide, x);
    results_.emplace_back(x, wide);
    return wide;
  }
  // Other arguments are passed as they are.
  template <class T>
  const T& operator()(const T& other) {
    return other;
  }

  void round_results() {
    for (const auto& [x, wide] : results_) cpu::convert(context_, x, wide);
  }

 private:
  Context& context_;
  ArenaScope scope_;
  std::vector<std::pair<Tensor, Tensor>> results_;
};

// kernel(arguments...) with stand-ins for the tensors that reads(), writes() and updates() name.
// When planning, it takes only the memory of the stand-ins.
template <class Kernel, class... Arguments>
void run_in_f32(Context& context, const Kernel& kernel, const Arguments&... arguments) {
  StandIns stand_in(context);
  const auto stood_in = std::tuple{stand_in(arguments)...};
  context.compute([&] {
    std::apply(kernel, stood_in);
    stand_in.round_results();
  });
}

}  // namespace dashlm::cpu
