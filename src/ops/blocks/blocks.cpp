#include "ops/blocks/blocks.h"

#include "ops/blocks/cpu/block_kernels.h"
#include "ops/core/cpu/kernels.h"
#include "ops/core/dispatch.h"
#include "ops/core/matmul.h"
#include "ops/stacks/cpu/linalg_kernels.h"

namespace dashlm {
namespace {

void expect_places(const char* operation, const Tensor& places, const Tensor& stack) {
  expect(operation, stack, {stack.dim(0), stack.dim(1), stack.dim(2)});
  expect(operation, places, {stack.dim(0), 2}, DType::i64);
}

void expect_table(const char* operation, const Tensor& packed, const Tensor& flat,
                  const Tensor& table) {
  expect_f32_or_bf16(operation, packed, {packed.elements()});
  expect(operation, flat, {flat.elements()}, packed.dtype);
  expect(operation, table, {table.dim(0), kBlockTableColumns}, DType::i64);
}

}  // namespace

std::vector<int64_t> block_table(std::span<const BlockPlace> places) {
  std::vector<int64_t> table;
  int64_t packed = 0;
  for (const BlockPlace& place : places) {
    table.insert(table.end(), {place.offset, place.row_stride, place.rows, place.cols, packed});
    packed += place.elements();
  }
  return table;
}

void gather_blocks(Context& context, const Tensor& packed, const Tensor& flat,
                   const Tensor& table) {
  expect_table("gather_blocks", packed, flat, table);
  DASHLM_DISPATCH(context, gather_blocks, packed, flat, table);
}

void scatter_blocks(Context& context, const Tensor& flat, const Tensor& packed,
                    const Tensor& table) {
  expect_table("scatter_blocks", packed, flat, table);
  DASHLM_DISPATCH(context, scatter_blocks, flat, packed, table);
}

void pack_blocks(Context& context, const Tensor& stack, const Tensor& flat, const Tensor& places,
                 float scale) {
  expect_places("pack_blocks", places, stack);
  DASHLM_DISPATCH(context, pack_blocks, stack, flat, places, scale);
}

void update_factors(Context& context, const Tensor& factors, const Tensor& blocks, FactorSide side,
                    float beta, float weight, MatmulPrecision precision) {
  const bool left = side == FactorSide::left;
  const int64_t n = blocks.dim(left ? 1 : 2), inner = blocks.dim(left ? 2 : 1);
  expect("update_factors", factors, {blocks.dim(0), n, n});
  context.flops += 2.0 * static_cast<double>(factors.elements()) * static_cast<double>(inner);
  DASHLM_CUDA(context, update_factors, factors, blocks, side, beta, weight, precision);
  const ArenaScope scope(context.scratch);
  const Tensor rounded = cpu::rounded_operand(context, "rounded blocks", blocks, precision);
  DASHLM_CPU(context, update_factors, factors, rounded, side, beta, weight);
}

void multiply_blocks(Context& context, const Tensor& c, const Tensor& a, const Tensor& b,
                     MatmulPrecision precision) {
  const int64_t inner = a.dim(2);
  expect("multiply_blocks", a, {c.dim(0), c.dim(1), inner});
  expect("multiply_blocks", b, {c.dim(0), inner, c.dim(2)});
  if (precision == MatmulPrecision::fp32) return matmul(context, c, a, b);
  expect("multiply_blocks", c, {a.dim(0), a.dim(1), b.dim(2)});
  context.flops += 2.0 * static_cast<double>(c.elements()) * static_cast<double>(inner);
  DASHLM_CUDA(context, multiply_blocks, c, a, b, precision);
  const ArenaScope scope(context.scratch);
  const Tensor rounded_a = cpu::rounded_operand(context, "rounded A", a, precision);
  const Tensor rounded_b = cpu::rounded_operand(context, "rounded B", b, precision);
  DASHLM_CPU(context, matmul, c, nullptr, rounded_a, rounded_b, {});
}

void update_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                    float weight) {
  expect("update_average", average, x.shape);
  DASHLM_DISPATCH(context, update_average, average, x, beta, weight);
}

void update_square_average(Context& context, const Tensor& average, const Tensor& x, float beta,
                           float weight) {
  expect("update_square_average", average, x.shape);
  DASHLM_DISPATCH(context, update_square_average, average, x, beta, weight);
}

void apply_block_update(Context& context, const Tensor& flat, const Tensor& places,
                        const BlockTensors& tensors, const BlockUpdate& update,
                        const Tensor& ratios) {
  const Tensor& mean = tensors.mean;
  expect_places("apply_block_update", places, mean);
  expect("apply_block_update", ratios, {mean.dim(0)});
  expect("apply_block_update", tensors.lr_scale, {mean.dim(0)});
  for (const Tensor* tensor : {&tensors.direction, tensors.variance, tensors.velocity}) {
    if (tensor) expect("apply_block_update", *tensor, mean.shape);
  }
  if ((has_variance(update.grafting) && !tensors.variance) ||
      (update.momentum > 0 && !tensors.velocity)) {
    fail_runtime("apply_block_update: {} lacks the variance or velocity its rule needs",
                 mean.text());
  }
  DASHLM_DISPATCH(context, apply_block_update, flat, places, tensors, update, ratios);
}

}  // namespace dashlm
