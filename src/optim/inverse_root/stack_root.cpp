#include "optim/inverse_root/stack_root.h"

#include "ops/stacks/stack_batches.h"

namespace dashlm {
void StackRoot::compute(Context& context, const RootRequest& request, const RootReports& reports) {
  const Tensor& factors = request.factors;
  if (factors.rank() != 3 || factors.dim(1) != factors.dim(2) ||
      factors.shape != request.roots.shape) {
    fail_runtime("inverse root: {} and {} must be stacks of square matrices of one shape",
                 factors.text(), request.roots.text());
  }
  const int64_t blocks = factors.dim(0);
  if (std::ssize(request.block_ids) != blocks || reports.status.elements() != blocks) {
    fail_runtime("inverse root: {} has {} block ids and {} reports", factors.text(),
                 request.block_ids.size(), reports.status.elements());
  }
  check_exponent(request.exponent);
  prepare(request.exponent);
  for_each_batch(context, blocks, factors.dim(1), [&](Context& own, int64_t begin, int64_t count) {
    const auto first = static_cast<size_t>(begin), size = static_cast<size_t>(count);
    const Tensor some_factors = factors.rows(begin, count);
    const Tensor some_roots = request.roots.rows(begin, count);
    const RootRequest part{.factors = some_factors,
                           .roots = some_roots,
                           .exponent = request.exponent,
                           .factor_scale = request.factor_scale,
                           .block_ids = request.block_ids.subspan(first, size),
                           .seed = request.seed,
                           .step = request.step};
    compute_batch(own, part, reports.rows(begin, count));
  });
}

void StackRoot::compute_batch(Context& context, const RootRequest& request,
                              const RootReports& reports) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = request.factors.dim(0);
  const auto scalars = [&](const TensorName& name, DType dtype = DType::f32) {
    return context.scratch.take(name, {blocks}, dtype);
  };
  RootBatch batch{.matrix = context.scratch.take("root.matrix", request.factors.shape),
                  .unit = scalars("root.unit"),
                  .state = scalars("root.state", DType::i32),
                  .steps = reports.steps,
                  .residual = reports.residual,
                  .scale = reports.scale,
                  .condition = reports.condition,
                  .exponent = request.exponent,
                  .block_ids = request.block_ids,
                  .seed = request.seed,
                  .step = request.step};
  for (const Tensor& t : {batch.steps, batch.residual, batch.scale, batch.condition}) {
    context.clear(t);
  }
  normalize_blocks(context, batch.matrix, batch.unit, batch.state, request.factors,
                   static_cast<float>(absolute_ridge() / request.factor_scale));
  if (request.factor_scale != 1.0) {
    scaled_power(context, batch.unit, batch.unit, {}, request.factor_scale, 1.0);
  }
  const RootResult result = solve(context, batch);
  const Tensor multiplier = scalars("root.multiplier");
  if (result.factor) {
    scaled_power(context, multiplier, batch.scale, batch.unit, *result.factor, -batch.exponent);
  }
  store_roots(context, request.roots, result.matrix, result.factor ? multiplier : Tensor{},
              batch.state);
  report_roots(context, reports, batch.state, batch.unit, is_iterative());
}

}  // namespace dashlm
