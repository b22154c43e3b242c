#include "ops/model/cross_entropy.h"

#include <algorithm>

#include "ops/core/cpu/run.h"
#include "ops/core/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const Tensor& losses, const Tensor& logits,
           const Tensor& targets) {
  expect(operation, logits, {targets.dim(0), logits.dim(1)});
  expect(operation, losses, {targets.dim(0)});
  expect(operation, targets, {targets.dim(0)}, DType::i32);
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& gradient,
                   const Tensor& logits, const Tensor& targets, float scale) {
  check("cross_entropy", losses, logits, targets);
  expect_f32_or_bf16("cross_entropy", gradient, logits.shape);
  DASHLM_CUDA(context, cross_entropy, losses, gradient, logits, targets, scale);
  cpu::run(context, cpu::cross_entropy, losses, cpu::writes(gradient), logits, targets, scale);
}

void cross_entropy_loss(Context& context, const Tensor& losses, const Tensor& logits,
                        const Tensor& targets) {
  check("cross_entropy_loss", losses, logits, targets);
  DASHLM_DISPATCH(context, cross_entropy_loss, losses, logits, targets);
}

int64_t logit_rows(const Context& context, int64_t tokens, int64_t vocabulary) {
  // About 16 MiB of logits stay in a CPU's cache for the next product; a GPU needs more rows at a
  // time to be kept busy, and has the memory.
  const bool gpu = context.device.kind() == DeviceKind::cuda;
  const int64_t logits = int64_t{1} << (gpu ? 27 : 22), fewest = 128;
  return std::min(tokens, std::max(fewest, logits / vocabulary / fewest * fewest));
}

}  // namespace dashlm
