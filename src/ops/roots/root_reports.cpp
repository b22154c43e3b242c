#include "ops/roots/root_reports.h"

#include "ops/core/dispatch.h"
#include "ops/roots/backends.h"

namespace dashlm {
namespace {

template <class T>
std::vector<T> downloaded(Device& device, const ConstTensor& from) {
  std::vector<T> to(static_cast<size_t>(from.elements()));
  device.download(to.data(), from.as<T>(), from.bytes());
  return to;
}

}  // namespace

RootReports RootReports::take(Arena& arena, int64_t count) {
  const auto integers = [&](const TensorName& name) {
    return arena.take(name, {count}, DType::i32);
  };
  RootReports reports;
  reports.status = integers("root status");
  reports.steps = integers("root steps");
  reports.failures = integers("failures");
  reports.residual = arena.take("root residual", {count});
  reports.scale = arena.take("root scale", {count});
  reports.condition = arena.take("root condition", {count});
  return reports;
}

RootReports RootReports::rows(int64_t begin, int64_t count) const {
  return {status.rows(begin, count),   steps.rows(begin, count), failures.rows(begin, count),
          residual.rows(begin, count), scale.rows(begin, count), condition.rows(begin, count)};
}

void RootReports::clear(const Context& context) const {
  for (const Tensor& tensor : {status, steps, failures, residual, scale, condition}) {
    context.clear(tensor);
  }
}

void report_roots(Context& context, const RootReports& reports, const ConstTensor& state,
                  const ConstTensor& unit, bool iterative) {
  expect("report_roots", state, unit.shape, DType::i32);
  expect("report_roots", unit, {state.dim(0)});
  for (const Tensor& tensor : {reports.status, reports.steps, reports.failures}) {
    expect("report_roots", tensor, unit.shape, DType::i32);
  }
  for (const Tensor& tensor : {reports.residual, reports.scale, reports.condition}) {
    expect("report_roots", tensor, unit.shape);
  }
  context.compute(DASHLM_BACKEND(context, report_roots), context, reports, state, unit, iterative);
}

std::vector<RootReport> read_reports(Device& device, const RootReports& reports) {
  const auto status = downloaded<int32_t>(device, reports.status);
  const auto steps = downloaded<int32_t>(device, reports.steps);
  const auto failures = downloaded<int32_t>(device, reports.failures);
  const auto residual = downloaded<float>(device, reports.residual);
  const auto scale = downloaded<float>(device, reports.scale);
  const auto condition = downloaded<float>(device, reports.condition);
  std::vector<RootReport> read;
  for (size_t s = 0; s < status.size(); ++s) {
    read.push_back({static_cast<RootStatus>(status[s]), steps[s], failures[s], residual[s],
                    scale[s], condition[s]});
  }
  return read;
}

}  // namespace dashlm
