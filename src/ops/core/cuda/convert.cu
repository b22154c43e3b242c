#include "ops/core/backends.h"
#include "ops/core/cuda/load_store.cuh"

namespace dashlm::cuda {
namespace {

template <class To, class From>
__global__ void convert_elements(To* __restrict__ out, const From* __restrict__ in, int64_t count,
                                 bool aligned) {
  for (int64_t i = first_element() * kGroup; i < count; i += element_step() * kGroup) {
    store_group(out + i, load_group(in + i, count - i, aligned), count - i, aligned);
  }
}

}  // namespace

void convert(Context& context, const Tensor& out, const ConstTensor& in) {
  if (out.dtype == in.dtype) return context.device.copy(out.data, in.data, in.bytes());
  const int64_t count = in.elements();
  with_type(out, [&]<class To>(To) {
    with_type(in, [&]<class From>(From) {
      To* to = out.as<To>();
      const From* from = in.as<From>();
      launch(context, convert_elements<To, From>, for_elements(divide_up(count, kGroup)), to, from,
             count, groups_aligned(kGroup, to, from));
    });
  });
}

}  // namespace dashlm::cuda
