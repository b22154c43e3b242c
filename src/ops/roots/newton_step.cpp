#include "ops/roots/newton_step.h"

#include "ops/core/dispatch.h"
#include "ops/roots/backends.h"

namespace dashlm {
namespace {

void expect_test(const char* operation, const NewtonTest& test, int64_t blocks) {
  expect(operation, test.state, {blocks}, DType::i32);
  expect(operation, test.steps, {blocks}, DType::i32);
  expect(operation, test.residual, {blocks});
}

}  // namespace

void newton_correction(Context& context, const Tensor& n, const ConstTensor& m, float a, float b,
                       const NewtonTest& test) {
  expect("newton_correction", n, m.shape);
  expect_test("newton_correction", test, m.dim(0));
  DASHLM_BACKEND(context, newton_correction)(context, n, m, a, b, test);
}

void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test) {
  const SymmetricStack& m = product.m ? product.m : product.n;
  expect_product("newton_product", m, product.a, product.b, product.precision);
  const Shape shape = m.shape();
  if (product.n.shape() != shape) {
    fail_runtime("newton_product: {} must be {}", product.n.any().text(), shape.text());
  }
  expect_test("newton_product", test, shape[0]);
  context.flops += 2.0 * static_cast<double>(shape.elements()) * static_cast<double>(shape[2]);
  DASHLM_BACKEND(context, newton_product)(context, product, a, b, test);
}

}  // namespace dashlm
