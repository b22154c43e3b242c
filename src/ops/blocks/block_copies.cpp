#include "ops/blocks/block_copies.h"

#include "ops/blocks/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

void expect_table(const char* operation, const ConstTensor& packed, const ConstTensor& flat,
                  const ConstTensor& table) {
  expect_f32_or_bf16(operation, packed, {packed.elements()});
  expect(operation, flat, {flat.elements()}, packed.dtype);
  expect(operation, table, {table.dim(0), kBlockTableColumns}, DType::i64);
}

}  // namespace

void gather_blocks(Context& context, const Tensor& packed, const ConstTensor& flat,
                   const ConstTensor& table) {
  expect_table("gather_blocks", packed, flat, table);
  context.compute(DASHLM_BACKEND(context, gather_blocks), context, packed, flat, table);
}

void scatter_blocks(Context& context, const Tensor& flat, const ConstTensor& packed,
                    const ConstTensor& table) {
  expect_table("scatter_blocks", packed, flat, table);
  context.compute(DASHLM_BACKEND(context, scatter_blocks), context, flat, packed, table);
}

void pack_blocks(Context& context, const Tensor& stack, const ConstTensor& flat,
                 const ConstTensor& table, float scale) {
  expect("pack_blocks", stack, {stack.dim(0), stack.dim(1), stack.dim(2)});
  expect("pack_blocks", table, {stack.dim(0), kBlockTableColumns}, DType::i64);
  context.compute(DASHLM_BACKEND(context, pack_blocks), context, stack, flat, table, scale);
}

}  // namespace dashlm
