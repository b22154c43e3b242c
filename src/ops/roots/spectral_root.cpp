#include "ops/roots/spectral_root.h"

#include "ops/core/dispatch.h"
#include "ops/roots/backends.h"

namespace dashlm {

void spectral_root(Context& context, const SpectralRootTensors& t, const SpectralRoot& options) {
  expect("spectral_root", t.weights, t.values.shape);
  expect("spectral_root", t.largest, {t.values.dim(0)});
  expect("spectral_root", t.condition, {t.values.dim(0)});
  expect("spectral_root", t.unit, {t.values.dim(0)});
  expect("spectral_root", t.state, {t.values.dim(0)}, DType::i32);
  context.compute(DASHLM_BACKEND(context, spectral_root), context, t, options);
}

}  // namespace dashlm
