#include "ops/roots/root_iteration.h"

#include "ops/core/dispatch.h"
#include "ops/roots/backends.h"

namespace dashlm {

void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const ConstTensor& factors, float least) {
  expect("normalize_blocks", out, factors.shape);
  expect("normalize_blocks", unit, {factors.dim(0)});
  expect("normalize_blocks", state, {factors.dim(0)}, DType::i32);
  DASHLM_BACKEND(context, normalize_blocks)(context, out, unit, state, factors, least);
}

void restart_blocks(Context& context, const Tensor& state) {
  context.compute(DASHLM_BACKEND(context, restart_blocks), context, state);
}

void fail_above(Context& context, const Tensor& state, const ConstTensor& value, float limit) {
  expect("fail_above", state, value.shape, DType::i32);
  expect("fail_above", value, {state.dim(0)});
  context.compute(DASHLM_BACKEND(context, fail_above), context, state, value, limit);
}

void store_roots(Context& context, const Tensor& roots, const ConstTensor& result,
                 const ConstTensor& multiplier, const Tensor& state) {
  expect("store_roots", roots, result.shape);
  expect("store_roots", state, {result.dim(0)}, DType::i32);
  if (multiplier) expect("store_roots", multiplier, {result.dim(0)});
  DASHLM_BACKEND(context, store_roots)(context, roots, result, multiplier, state);
}

}  // namespace dashlm
