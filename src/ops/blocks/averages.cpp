#include "ops/blocks/averages.h"

#include "ops/blocks/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void update_average(Context& context, const Tensor& average, const ConstTensor& x, float beta,
                    float weight) {
  expect("update_average", average, x.shape);
  context.compute(DASHLM_BACKEND(context, update_average), context, average, x, beta, weight);
}

void update_square_average(Context& context, const Tensor& average, const ConstTensor& x,
                           float beta, float weight) {
  expect("update_square_average", average, x.shape);
  context.compute(DASHLM_BACKEND(context, update_square_average), context, average, x, beta,
                  weight);
}

}  // namespace dashlm
