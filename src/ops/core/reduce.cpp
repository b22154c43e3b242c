#include "ops/core/reduce.h"

#include "ops/core/cpu/kernels.h"
#include "ops/core/dispatch.h"

namespace dashlm {

namespace {

void check(const char* operation, const Tensor& total, const Tensor& x) {
  expect(operation, total, {1}, DType::f64);
  expect(operation, x, x.shape);
}

// What `add` adds to zero, on the host.
template <class Add>
double read_total(Context& context, const Tensor& x, const Add& add) {
  const ArenaScope scope(context.scratch);
  const Tensor total = context.scratch.take("total", {1}, DType::f64);
  if (!context.planning()) context.device.clear(total.data, total.bytes());
  add(context, total, x);
  double result = 0;
  if (!context.planning()) context.device.download(&result, total.data, total.bytes());
  return result;
}

}  // namespace

void add_sum(Context& context, const Tensor& total, const Tensor& x) {
  check("add_sum", total, x);
  DASHLM_DISPATCH(context, add_sum, total, x);
}

void add_sum_of_squares(Context& context, const Tensor& total, const Tensor& x) {
  check("add_sum_of_squares", total, x);
  DASHLM_DISPATCH(context, add_sum_of_squares, total, x);
}

double sum(Context& context, const Tensor& x) {
  return read_total(context, x, add_sum);
}

double sum_of_squares(Context& context, const Tensor& x) {
  return read_total(context, x, add_sum_of_squares);
}

}  // namespace dashlm
