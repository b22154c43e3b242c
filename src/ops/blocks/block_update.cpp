#include "ops/blocks/block_update.h"

#include "ops/blocks/backends.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void apply_block_update(Context& context, const BlockTensors& tensors, const BlockUpdate& update) {
  const ConstTensor& mean = tensors.mean;
  expect("apply_block_update", mean, {mean.dim(0), mean.dim(1), mean.dim(2)});
  expect("apply_block_update", tensors.table, {mean.dim(0), kBlockTableColumns}, DType::i64);
  expect("apply_block_update", tensors.ratios, {mean.dim(0)});
  expect("apply_block_update", tensors.lr_scale, {mean.dim(0)});
  expect("apply_block_update", tensors.direction, mean.shape);
  if (tensors.variance) expect("apply_block_update", tensors.variance, mean.shape);
  if (tensors.velocity) expect("apply_block_update", tensors.velocity, mean.shape);
  if ((has_variance(update.grafting) && !tensors.variance) ||
      (update.momentum > 0 && !tensors.velocity)) {
    fail_runtime("apply_block_update: {} lacks the variance or velocity its rule needs",
                 mean.text());
  }
  DASHLM_BACKEND(context, apply_block_update)(context, tensors, update);
}

}  // namespace dashlm
