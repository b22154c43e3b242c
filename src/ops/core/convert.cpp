#include "ops/core/convert.h"

#include "ops/core/cpu/kernels.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void convert(Context& context, const Tensor& out, const Tensor& in) {
  expect_f32_or_bf16("convert", in, in.shape);
  expect_f32_or_bf16("convert", out, in.shape);
  DASHLM_DISPATCH(context, convert, out, in);
}

}  // namespace dashlm
