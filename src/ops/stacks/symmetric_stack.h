// A stack of symmetric matrices, perhaps with a rounded copy for products.
#pragma once

#include "ops/core/context.h"
#include "ops/core/precision.h"

namespace dashlm {

// Matrices, and a rounded copy on a GPU where products take rounded operands. An operation that
// writes the matrices writes the copy too, so each element is rounded once, however many products
// take it. Without a copy, or with a copy in another precision, a product rounds its operands
// itself.
struct SymmetricStack {
  Tensor values;   // (S, n, n) f32; absent: only the copy exists
  Tensor rounded;  // (S, n, n or a few more), in a type that holds `precision`; absent: no copy
  MatmulPrecision precision = MatmulPrecision::fp32;

  SymmetricStack() = default;
  SymmetricStack(const Tensor& matrices) : values(matrices) {}  // without a copy

  // All tensors lie in scratch memory. The copy is not filled yet.
  static SymmetricStack take(Context& context, const TensorName& name, const Shape& shape,
                             MatmulPrecision precision);
  static SymmetricStack with_copy(Context& context, const Tensor& values,
                                  MatmulPrecision precision);
  // For matrices that are only multiplied by: without values where there is a copy.
  static SymmetricStack take_operand(Context& context, const TensorName& name, const Shape& shape,
                                     MatmulPrecision precision);
  SymmetricStack as_operand() const;

  explicit operator bool() const { return has_values() || has_copy(); }
  bool has_values() const { return bool(values); }
  bool has_copy() const { return bool(rounded); }
  const Tensor& any() const { return has_values() ? values : rounded; }
  Shape shape() const { return {any().dim(0), any().dim(1), any().dim(1)}; }
};

// Scratch memory for the rounded copy of a stack of this shape. Of rank 0 where there are no
// copies: on a CPU, and for products of fp32.
Tensor take_rounded(Context& context, const TensorName& name, const Shape& shape,
                    MatmulPrecision precision);

// Fills the copy, if there is one, from the values. Call it after operations that write the values
// only.
void round_values(Context& context, const SymmetricStack& stack);

// Throws unless C = A·B is a product of square matrices of one shape, C is neither A nor B, and A
// and B exist in `precision` or can be rounded to it.
void expect_product(const char* operation, const SymmetricStack& c, const SymmetricStack& a,
                    const SymmetricStack& b, MatmulPrecision precision);

}  // namespace dashlm
