#include "ops/blocks/adamw.h"

#include "ops/blocks/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void adamw(Context& context, const AdamwTensors& t, const AdamwStep& step) {
  expect("adamw", t.moment1, {t.moment1.dim(0), t.moment1.dim(1), t.moment1.dim(2)});
  expect("adamw", t.moment2, t.moment1.shape);
  expect("adamw", t.table, {t.moment1.dim(0), kBlockTableColumns}, DType::i64);
  expect("adamw", t.lr_scale, {t.moment1.dim(0)});
  expect("adamw", t.weights, {t.weights.elements()});
  expect("adamw", t.gradients, t.weights.shape);
  context.compute(DASHLM_BACKEND(context, adamw), context, t, step);
}

}  // namespace dashlm
