#include "ops/blocks/backends.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/matmul.h"
#include "ops/stacks/cpu/rounded_operand.h"

namespace dashlm::cpu {
namespace {

// The blocks were rounded.
void add_products(const Tensor& factors, const ConstTensor& blocks, FactorSide side, float beta,
                  float weight) {
  const int64_t rows = blocks.dim(1), cols = blocks.dim(2), n = factors.dim(1);
  float* out = factors.f32();
  const float* in = blocks.f32();
  const bool right = side == FactorSide::right;
  for_each_matrix(blocks.dim(0), rows * cols * n / 2, [&](int64_t block) {
    const ConstMatrix a{in + block * rows * cols, cols, right};
    symmetric_gemm(n, right ? rows : cols, weight, a, a.transpose(), beta,
                   {out + block * n * n, n});
  });
}

}  // namespace

void update_factors(Context& context, const Tensor& factors, const ConstTensor& blocks,
                    FactorSide side, float beta, float weight, MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const ConstTensor rounded = rounded_operand(context, "rounded blocks", blocks, precision);
  context.compute(add_products, factors, rounded, side, beta, weight);
}

void multiply_blocks(Context& context, const Tensor& c, const ConstTensor& a, const ConstTensor& b,
                     MatmulPrecision precision) {
  const ArenaScope scope(context.scratch);
  const ConstTensor rounded_a = rounded_operand(context, "rounded A", a, precision);
  const ConstTensor rounded_b = rounded_operand(context, "rounded B", b, precision);
  context.compute([&] { multiply(c, nullptr, rounded_a, rounded_b); });
}

}  // namespace dashlm::cpu
