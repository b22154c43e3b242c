#include "ops/blocks/block_products.h"

#include "ops/blocks/backends.h"
#include "ops/core/dispatch.h"
#include "ops/core/matmul.h"

namespace dashlm {

void update_factors(Context& context, const Tensor& factors, const ConstTensor& blocks,
                    FactorSide side, float beta, float weight, MatmulPrecision precision) {
  const bool left = side == FactorSide::left;
  const int64_t n = blocks.dim(left ? 1 : 2), inner = blocks.dim(left ? 2 : 1);
  expect("update_factors", factors, {blocks.dim(0), n, n});
  context.flops += 2.0 * static_cast<double>(factors.elements()) * static_cast<double>(inner);
  DASHLM_BACKEND(context, update_factors)(context, factors, blocks, side, beta, weight, precision);
}

void multiply_blocks(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
                     MatmulPrecision precision) {
  const int64_t inner = a.dim(2);
  expect("multiply_blocks", a, {c.dim(0), c.dim(1), inner});
  expect("multiply_blocks", b, {c.dim(0), inner, c.dim(2)});
  if (precision == MatmulPrecision::fp32) return matmul(context, c, a, b);
  expect("multiply_blocks", c, {a.dim(0), a.dim(1), b.dim(2)});
  context.flops += 2.0 * static_cast<double>(c.elements()) * static_cast<double>(inner);
  DASHLM_BACKEND(context, multiply_blocks)(context, c, a, b, precision);
}

}  // namespace dashlm
