#include "optim/inverse_root/scaling.h"

namespace dashlm {
namespace {

// batch.scale = the estimate of lambda_max of batch.matrix.
void estimate(Context& context, RootBatch& batch, const ScalingConfig& scaling) {
  switch (scaling.type) {
    case ScalingType::frobenius:
      return frobenius_norm(context, batch.scale, batch.matrix);
    case ScalingType::bound:
      return eigenvalue_bound(context, batch.scale, batch.matrix);
    case ScalingType::power_iteration:
    case ScalingType::multi_power_iteration:
      break;
  }
  const bool pooled = scaling.type == ScalingType::multi_power_iteration;
  power_iteration(context, batch.scale, batch.matrix,
                  {.pool = pooled ? scaling.pool : 1,
                   .steps = scaling.steps,
                   .seed = batch.seed,
                   .step = batch.step,
                   .block_ids = batch.block_ids,
                   .precision = scaling.matmul});
}

}  // namespace

void add_ridge_and_scale(Context& context, RootBatch& batch, const ScalingConfig& scaling,
                         double ridge, RidgeType ridge_type) {
  const ArenaScope scope(context.scratch);
  const Tensor eps = context.scratch.take("root.ridge", batch.scale.shape);
  double growth = 1.0;
  if (ridge_type == RidgeType::absolute) {
    scaled_power(context, eps, batch.unit, {}, ridge, -1.0);
    if (ridge > 0) add_to_diagonal(context, batch.matrix, {1.0f, eps});
    estimate(context, batch, scaling);
  } else {
    estimate(context, batch, scaling);
    scaled_power(context, eps, batch.scale, {}, ridge, 1.0);
    if (ridge > 0) add_to_diagonal(context, batch.matrix, {1.0f, eps});
    growth = 1.0 + ridge;  // lambda_max of the new matrix, exactly as much more
  }
  scaled_power(context, batch.scale, batch.scale, {}, scaling.margin() * growth, 1.0);
}

}  // namespace dashlm
