#include "device/cpu/parallel.h"
#include "ops/core/backends.h"
#include "tensor/bf16.h"

namespace dashlm::cpu {
namespace {

template <class To, class From>
void convert_elements(const Tensor& out, const ConstTensor& in) {
  constexpr int64_t kGrain = 1 << 14;
  To* to = out.as<To>();
  const From* from = in.as<From>();
  parallel_ranges(in.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(from[i]);
  });
}

template <class To>
void convert_to(const Tensor& out, const ConstTensor& in) {
  in.dtype == DType::f32 ? convert_elements<To, float>(out, in)
                         : convert_elements<To, Bf16>(out, in);
}

}  // namespace

void convert(Context&, const Tensor& out, const ConstTensor& in) {
  out.dtype == DType::f32 ? convert_to<float>(out, in) : convert_to<Bf16>(out, in);
}

}  // namespace dashlm::cpu
