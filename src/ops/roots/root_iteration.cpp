#include "ops/roots/root_iteration.h"

#include "ops/core/dispatch.h"
#include "ops/stacks/cpu/linalg_kernels.h"

namespace dashlm {
namespace {

void expect_test(const char* operation, const NewtonTest& test, int64_t blocks) {
  expect(operation, test.state, {blocks}, DType::i32);
  expect(operation, test.steps, {blocks}, DType::i32);
  expect(operation, test.residual, {blocks});
}

}  // namespace

void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least) {
  expect("normalize_blocks", out, factors.shape);
  expect("normalize_blocks", unit, {factors.dim(0)});
  expect("normalize_blocks", state, {factors.dim(0)}, DType::i32);
  DASHLM_DISPATCH(context, normalize_blocks, out, unit, state, factors, least);
}

void newton_correction(Context& context, const Tensor& n, const Tensor& m, float a, float b,
                       const NewtonTest& test) {
  expect("newton_correction", n, m.shape);
  expect_test("newton_correction", test, m.dim(0));
  DASHLM_DISPATCH(context, newton_correction, n, m, a, b, test);
}

void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test) {
  const SymmetricStack& m = product.m ? *product.m : product.n;
  expect_product("newton_product", m, product.a, product.b, product.precision);
  const Shape shape = m.shape();
  if (product.n.shape() != shape) {
    fail_runtime("newton_product: {} must be {}", product.n.any().text(), shape.text());
  }
  expect_test("newton_product", test, shape[0]);
  DASHLM_CUDA(context, newton_product, product, a, b, test);
  symmetric_matmul(context, m, product.a, product.b,
                   {.precision = product.precision, .state = &test.state});
  newton_correction(context, product.n.values, m.values, a, b, test);
}

void restart_blocks(Context& context, const Tensor& state) {
  DASHLM_DISPATCH(context, restart_blocks, state);
}

void spectral_root(Context& context, const Tensor& weights, const Tensor& largest,
                   const Tensor& condition, const Tensor& values, const Tensor& unit,
                   const Tensor& state, const SpectralRoot& options) {
  expect("spectral_root", weights, values.shape);
  expect("spectral_root", largest, {values.dim(0)});
  expect("spectral_root", condition, {values.dim(0)});
  expect("spectral_root", unit, {values.dim(0)});
  expect("spectral_root", state, {values.dim(0)}, DType::i32);
  DASHLM_DISPATCH(context, spectral_root, weights, largest, condition, values, unit, state,
                  options);
}

void fail_above(Context& context, const Tensor& state, const Tensor& value, float limit) {
  expect("fail_above", state, value.shape, DType::i32);
  expect("fail_above", value, {state.dim(0)});
  DASHLM_DISPATCH(context, fail_above, state, value, limit);
}

void store_roots(Context& context, const Tensor& roots, const Tensor& result,
                 const Tensor* multiplier, const Tensor& state) {
  expect("store_roots", roots, result.shape);
  expect("store_roots", state, {result.dim(0)}, DType::i32);
  if (multiplier) expect("store_roots", *multiplier, {result.dim(0)});
  DASHLM_DISPATCH(context, store_roots, roots, result, multiplier, state);
}

RootReports RootReports::take(Arena& arena, int64_t count) {
  const auto integers = [&](const char* name) { return arena.take(name, {count}, DType::i32); };
  RootReports reports;
  reports.status = integers("root status");
  reports.steps = integers("root steps");
  reports.failures = integers("failures");
  reports.residual = arena.take("root residual", {count});
  reports.scale = arena.take("root scale", {count});
  reports.condition = arena.take("root condition", {count});
  return reports;
}

RootReports RootReports::rows(int64_t begin, int64_t count) const {
  return {status.rows(begin, count),   steps.rows(begin, count), failures.rows(begin, count),
          residual.rows(begin, count), scale.rows(begin, count), condition.rows(begin, count)};
}

void RootReports::clear(Context& context) const {
  for (const Tensor& tensor : {status, steps, failures, residual, scale, condition}) {
    context.device.clear(tensor.data, tensor.bytes());
  }
}

void report_roots(Context& context, const RootReports& reports, const Tensor& state,
                  const Tensor& unit, bool iterative) {
  for (const Tensor* tensor : {&state, &reports.status, &reports.steps, &reports.failures}) {
    expect("report_roots", *tensor, unit.shape, DType::i32);
  }
  for (const Tensor* tensor : {&unit, &reports.residual, &reports.scale, &reports.condition}) {
    expect("report_roots", *tensor, {state.dim(0)});
  }
  DASHLM_DISPATCH(context, report_roots, reports, state, unit, iterative);
}

}  // namespace dashlm
