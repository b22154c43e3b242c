// Runs kernels that know f32 only, on tensors that may be bf16: those get f32 stand-ins in scratch
// memory, and results are rounded once. So all arithmetic is f32, as on a GPU, and the CPU needs no
// second set of kernels; what it costs is memory traffic.
#pragma once

#include <tuple>
#include <vector>

#include "ops/core/context.h"
#include "ops/core/cpu/kernels.h"

namespace dashlm::cpu {

// A tensor, and what a kernel does with it.
struct Access {
  const Tensor& tensor;
  bool reads, writes;
};
inline Access reads(const Tensor& x) {
  return {x, true, false};
}
inline Access writes(const Tensor& x) {
  return {x, false, true};
}
inline Access updates(const Tensor& x) {
  return {x, true, true};
}

class StandIns {
 public:
  explicit StandIns(Context& context) : context_(context), scope_(context.scratch) {}

  Tensor operator()(const Access& access) {
    const Tensor& x = access.tensor;
    if (x.dtype != DType::bf16) return x;
    Tensor wide = context_.scratch.take(x.name, x.shape);
    if (access.reads && !context_.planning()) convert(wide, x);
    if (access.writes) results_.emplace_back(x, wide);
    return wide;
  }
  // Other arguments stand for themselves.
  template <class T>
  const T& operator()(const T& other) {
    return other;
  }

  void round_results() {
    for (const auto& [x, wide] : results_) convert(x, wide);
  }

 private:
  Context& context_;
  ArenaScope scope_;
  std::vector<std::pair<Tensor, Tensor>> results_;
};

// kernel(arguments...) with stand-ins for what reads(), writes() and updates() name; when planning,
// only their memory is taken.
template <class Kernel, class... Arguments>
void run(Context& context, const Kernel& kernel, const Arguments&... arguments) {
  StandIns stand_in(context);
  const auto stood_in = std::tuple{stand_in(arguments)...};
  if (context.planning()) return;
  std::apply(kernel, stood_in);
  stand_in.round_results();
}

}  // namespace dashlm::cpu
