#include "ops/stacks/symmetric_stack.h"

#include "ops/core/dispatch.h"
#include "ops/stacks/backends.h"

namespace dashlm {
namespace {

bool is_square(const SymmetricStack& stack) {
  const Tensor& any = stack.any();
  if (any.rank() != 3 || any.dim(2) < any.dim(1)) return false;
  return !stack.has_values() || (any.dim(1) == any.dim(2) && any.dtype == DType::f32);
}

bool share_memory(const SymmetricStack& a, const SymmetricStack& b) {
  return (a.values.data && a.values.data == b.values.data) ||
         (a.rounded.data && a.rounded.data == b.rounded.data);
}

}  // namespace

SymmetricStack SymmetricStack::take(Context& context, const TensorName& name, const Shape& shape,
                                    MatmulPrecision precision) {
  return with_copy(context, context.scratch.take(name, shape), precision);
}

SymmetricStack SymmetricStack::with_copy(Context& context, const Tensor& values,
                                         MatmulPrecision precision) {
  SymmetricStack stack(values);
  stack.precision = precision;
  stack.rounded = take_rounded(context, values.name, values.shape, precision);
  return stack;
}

SymmetricStack SymmetricStack::take_operand(Context& context, const TensorName& name,
                                            const Shape& shape, MatmulPrecision precision) {
  SymmetricStack stack;
  stack.precision = precision;
  stack.rounded = take_rounded(context, name, shape, precision);
  if (!stack.has_copy()) stack.values = context.scratch.take(name, shape);
  return stack;
}

SymmetricStack SymmetricStack::as_operand() const {
  SymmetricStack operand = *this;
  if (has_copy()) operand.values = {};
  return operand;
}

Tensor take_rounded(Context& context, const TensorName& name, const Shape& shape,
                    MatmulPrecision precision) {
  if (precision == MatmulPrecision::fp32) return {};
  return DASHLM_BACKEND(context, take_rounded)(context, name, shape, precision);
}

void round_values(Context& context, const SymmetricStack& stack) {
  if (!stack.has_copy()) return;
  expect("round_values", stack.values, stack.shape());
  context.compute(DASHLM_BACKEND(context, round_values), context, stack);
}

void expect_product(const char* operation, const SymmetricStack& c, const SymmetricStack& a,
                    const SymmetricStack& b, MatmulPrecision precision) {
  for (const SymmetricStack* stack : {&c, &a, &b}) {
    if (!is_square(*stack)) {
      fail_runtime("{}: {} must be a stack of square f32 matrices", operation, stack->any().text());
    }
    if (stack->shape() != c.shape()) {
      fail_runtime("{}: {} must be {}", operation, stack->any().text(), c.shape().text());
    }
  }
  for (const SymmetricStack* operand : {&a, &b}) {
    if (share_memory(c, *operand)) {
      fail_runtime("{}: {} must not be one of its operands", operation, c.any().text());
    }
    if (!operand->has_values() && operand->precision != precision) {
      fail_runtime("{}: {} was rounded to {}, but is to be multiplied in {}", operation,
                   operand->any().text(), enum_name(operand->precision), enum_name(precision));
    }
  }
}

}  // namespace dashlm
