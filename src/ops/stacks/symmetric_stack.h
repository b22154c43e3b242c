// Stacks of symmetric matrices as products write and multiply by them.
#pragma once

#include "ops/core/context.h"
#include "ops/core/precision.h"

namespace dashlm {

// Matrices and, on a GPU where products take rounded operands, a rounded copy, which whoever writes
// the matrices writes with them: so each element is rounded once, however many products take it.
// Elsewhere products round for themselves, as they do where the copy is in another precision than
// theirs.
struct SymmetricStack {
  Tensor values;   // (S, n, n) f32; of rank 0: there is the copy only
  Tensor rounded;  // (S, n, n or a few more), in a type that holds `precision`; of rank 0: no copy
  MatmulPrecision precision = MatmulPrecision::fp32;

  SymmetricStack() = default;
  SymmetricStack(const Tensor& matrices) : values(matrices) {}  // without a copy

  // All in scratch memory, the copy yet to be filled.
  static SymmetricStack take(Context& context, const char* name, const Shape& shape,
                             MatmulPrecision precision);
  static SymmetricStack with_copy(Context& context, const Tensor& values,
                                  MatmulPrecision precision);
  // For what is only ever multiplied by: without values where there is a copy.
  static SymmetricStack take_operand(Context& context, const char* name, const Shape& shape,
                                     MatmulPrecision precision);
  SymmetricStack as_operand() const;

  bool has_values() const { return values.rank() > 0; }
  bool has_copy() const { return rounded.rank() > 0; }
  const Tensor& any() const { return has_values() ? values : rounded; }
  Shape shape() const { return {any().dim(0), any().dim(1), any().dim(1)}; }
};

// Fills the copy, if there is one, from the values: after operations that know the values only.
void round_values(Context& context, const SymmetricStack& stack);

// Throws unless C = A·B is a product of square matrices of one shape, C is neither A nor B, and A
// and B are there in `precision` or can be rounded to it.
void expect_product(const char* operation, const SymmetricStack& c, const SymmetricStack& a,
                    const SymmetricStack& b, MatmulPrecision precision);

}  // namespace dashlm
