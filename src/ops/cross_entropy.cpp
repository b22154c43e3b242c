#include "ops/cross_entropy.h"

#include "ops/cpu/kernels.h"
#include "ops/dispatch.h"

namespace dashlm {
namespace {

void check(const char* operation, const Tensor& losses, const Tensor& logits,
           const Tensor& targets) {
  expect(operation, logits, {targets.dim(0), logits.dim(1)});
  expect(operation, losses, {targets.dim(0)});
  expect(operation, targets, {targets.dim(0)}, DType::i32);
}

}  // namespace

void cross_entropy(Context& context, const Tensor& losses, const Tensor& logits,
                   const Tensor& targets, float scale) {
  check("cross_entropy", losses, logits, targets);
  DASHLM_DISPATCH(context, cross_entropy, losses, logits, targets, scale);
}

void cross_entropy_loss(Context& context, const Tensor& losses, const Tensor& logits,
                        const Tensor& targets) {
  check("cross_entropy_loss", losses, logits, targets);
  DASHLM_DISPATCH(context, cross_entropy_loss, losses, logits, targets);
}

}  // namespace dashlm
