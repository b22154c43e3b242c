#include "ops/model/cross_entropy.h"

#include <algorithm>

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {
namespace {

void check(const char* operation, const ConstTensor& losses, const ConstTensor& logits,
           const ConstTensor& targets) {
  expect(operation, logits, {targets.dim(0), logits.dim(1)});
  expect(operation, losses, {targets.dim(0)});
  expect(operation, targets, {targets.dim(0)}, DType::i32);
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const ConstTensor& logits, const ConstTensor& targets, float scale) {
  check("cross_entropy", losses, logits, targets);
  expect_f32_or_bf16("cross_entropy", gradient, logits.shape);
  DASHLM_BACKEND(context, cross_entropy)(context, losses, gradient, logits, targets, scale);
}

void cross_entropy_loss(Context& context, const Tensor& losses, const ConstTensor& logits,
                        const ConstTensor& targets) {
  check("cross_entropy_loss", losses, logits, targets);
  context.compute(DASHLM_BACKEND(context, cross_entropy_loss), context, losses, logits, targets);
}

int64_t logit_rows(const Context& context, int64_t tokens, int64_t vocabulary) {
  // About 16 MiB of logits stay in a CPU's cache for the next product; a GPU needs more rows at a
  // time to be kept busy, and has the memory.
  const bool gpu = on_gpu(context);
  const int64_t logits = int64_t{1} << (gpu ? 27 : 22), fewest = 128;
  return std::min(tokens, std::max(fewest, logits / vocabulary / fewest * fewest));
}

}  // namespace dashlm
