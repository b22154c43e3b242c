#include "ops/blocks/backends.h"
#include "ops/stacks/cuda/symmetric_product.cuh"

namespace dashlm::cuda {

void update_factors(Context& context, const Tensor& factors, const ConstTensor& blocks,
                    FactorSide side, float beta, float weight, MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand g(context, "rounded blocks", blocks, precision);
  const bool left = side == FactorSide::left;
  const int64_t n = factors.dim(1), k = blocks.dim(left ? 2 : 1);
  context.compute([&] {
    g.fill(context);
    lower_product(device_of(context), precision, {factors.dim(0), n, n, k}, {weight, beta},
                  g.operand(!left), g.operand(left), result_of(factors, factors));
    mirror(context, lower_of<float>(factors, {}),
           Keep<float>{stored<float>(factors, factors), 0.0f, nullptr});
  });
}

void multiply_blocks(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
                     MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const StackOperand left(context, "rounded A", a, precision);
  const StackOperand right(context, "rounded B", b, precision);
  context.compute([&] {
    left.fill(context);
    right.fill(context);
    gemm(device_of(context), precision, {c.dim(0), c.dim(1), c.dim(2), a.dim(2)}, {},
         left.operand(), right.operand(),
         {.c = c.f32(), .row_stride = c.dim(2), .stride = c.dim(1) * c.dim(2)});
  });
}

}  // namespace dashlm::cuda
