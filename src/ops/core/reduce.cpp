#include "ops/core/reduce.h"

#include "ops/core/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const ConstTensor& total, const ConstTensor& x) {
  expect(operation, total, {1}, DType::f64);
  expect(operation, x, x.shape);
}

// What `add` adds to zero, on the host.
template <class Add>
double read_total(Context& context, const ConstTensor& x, const Add& add) {
  const ArenaScope scope(context.scratch);
  const Tensor total = context.scratch.take("total", {1}, DType::f64);
  context.clear(total);
  add(context, total, x);
  double result = 0;
  context.compute([&] { context.device.download(&result, total.data, total.bytes()); });
  return result;
}

}  // namespace

void add_sum(Context& context, const Tensor& total, const ConstTensor& x) {
  check("add_sum", total, x);
  DASHLM_BACKEND(context, add_sum)(context, total, x);
}

void add_sum_of_squares(Context& context, const Tensor& total, const ConstTensor& x) {
  check("add_sum_of_squares", total, x);
  DASHLM_BACKEND(context, add_sum_of_squares)(context, total, x);
}

double sum(Context& context, const ConstTensor& x) {
  return read_total(context, x, add_sum);
}

double sum_of_squares(Context& context, const ConstTensor& x) {
  return read_total(context, x, add_sum_of_squares);
}

}  // namespace dashlm
