#include "optim/inverse_root/stack_root.h"

#include <vector>

#include "ops/stack_batches.h"

namespace dashlm {
namespace {

template <class T>
void download(Context& context, const Tensor& from, std::vector<T>& to) {
  to.resize(static_cast<size_t>(from.elements()));
  context.device.download(to.data(), from.as<T>(), from.bytes());
}

RootStatus status_of(int32_t state, bool iterative) {
  if (state & kFailed) return RootStatus::failed;
  const bool late = (state & kLate) || (iterative && (state & kActive));
  return late ? RootStatus::out_of_steps : RootStatus::ok;
}

void fill_reports(Context& context, const RootBatch& batch, bool iterative,
                  std::span<RootReport> reports) {
  std::vector<int32_t> state, steps;
  std::vector<float> unit, residual, scale, condition;
  download(context, batch.state, state);
  download(context, batch.steps, steps);
  download(context, batch.unit, unit);
  download(context, batch.residual, residual);
  download(context, batch.scale, scale);
  download(context, batch.condition, condition);
  for (size_t s = 0; s < reports.size(); ++s) {
    const bool zero = state[s] & kZero;
    reports[s] = {.status = status_of(state[s], iterative),
                  .steps = steps[s],
                  .residual = residual[s],
                  .scale = zero ? 0.0f : scale[s] * unit[s],
                  .condition = zero ? 0.0f : condition[s]};
  }
}

}  // namespace

void StackRoot::compute(Context& context, const RootRequest& request,
                        std::span<RootReport> reports) {
  const Tensor& factors = request.factors;
  if (factors.rank() != 3 || factors.dim(1) != factors.dim(2) ||
      factors.shape != request.roots.shape) {
    fail_runtime("inverse root: {} and {} must be stacks of square matrices of one shape",
                 factors.text(), request.roots.text());
  }
  const int64_t blocks = factors.dim(0);
  if (std::ssize(request.block_ids) != blocks ||
      (!context.planning() && std::ssize(reports) != blocks)) {
    fail_runtime("inverse root: {} has {} block ids and {} reports", factors.text(),
                 request.block_ids.size(), reports.size());
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
    compute_batch(own, part,
                  own.planning() ? std::span<RootReport>{} : reports.subspan(first, size));
  });
}

void StackRoot::compute_batch(Context& context, const RootRequest& request,
                              std::span<RootReport> reports) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = request.factors.dim(0);
  const auto scalars = [&](const char* name, DType dtype = DType::f32) {
    return context.scratch.take(name, {blocks}, dtype);
  };
  RootBatch batch{.matrix = context.scratch.take("root.matrix", request.factors.shape),
                  .unit = scalars("root.unit"),
                  .state = scalars("root.state", DType::i32),
                  .steps = scalars("root.steps", DType::i32),
                  .residual = scalars("root.residual"),
                  .scale = scalars("root.scale"),
                  .condition = scalars("root.condition"),
                  .exponent = request.exponent,
                  .block_ids = request.block_ids,
                  .seed = request.seed,
                  .step = request.step};
  if (!context.planning()) {
    for (const Tensor& t : {batch.steps, batch.residual, batch.scale, batch.condition}) {
      context.device.clear(t.data, t.bytes());
    }
  }
  normalize_blocks(context, batch.matrix, batch.unit, batch.state, request.factors,
                   static_cast<float>(absolute_ridge() / request.factor_scale));
  if (request.factor_scale != 1.0) {
    scaled_power(context, batch.unit, batch.unit, nullptr, request.factor_scale, 1.0);
  }
  const RootResult result = solve(context, batch);
  const Tensor multiplier = scalars("root.multiplier");
  if (result.factor) {
    scaled_power(context, multiplier, batch.scale, &batch.unit, *result.factor, -batch.exponent);
  }
  store_roots(context, request.roots, result.matrix, result.factor ? &multiplier : nullptr,
              batch.state);
  if (!context.planning()) fill_reports(context, batch, is_iterative(), reports);
}

}  // namespace dashlm
