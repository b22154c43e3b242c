#include "ops/core/convert.h"

#include "ops/core/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void convert(Context& context, const Tensor& out, const ConstTensor& in) {
  expect_f32_or_bf16("convert", in, in.shape);
  expect_f32_or_bf16("convert", out, in.shape);
  context.compute(DASHLM_BACKEND(context, convert), context, out, in);
}

}  // namespace dashlm
