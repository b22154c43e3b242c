#include "optim/inverse_root/root_trial.h"

#include <algorithm>
#include <numeric>

namespace dashlm {

RootTrial::RootTrial(Device& device, const InverseRootConfig& config, double exponent,
                     const Shape& shape)
    : device_(device),
      memory_(device, "factors"),
      scratch_(device, "scratch"),
      method_(make_inverse_root(config)),
      exponent_(exponent),
      ids_(static_cast<size_t>(shape[0])) {
  std::iota(ids_.begin(), ids_.end(), int64_t{0});
  take(shape);
  compute();
  memory_.commit();
  scratch_.commit();
  take(shape);
}

void RootTrial::take(const Shape& shape) {
  factors_ = memory_.take("factors", shape);
  roots_ = memory_.take("roots", shape);
  reports_ = RootReports::take(memory_, shape[0]);
}

void RootTrial::set_factors(const std::vector<float>& host) {
  device_.upload(factors_.data, host.data(), factors_.bytes());
}

double RootTrial::compute() {
  Context context{device_, scratch_};
  method_->compute(context,
                   {.factors = factors_, .roots = roots_, .exponent = exponent_, .block_ids = ids_},
                   reports_);
  return context.flops;
}

std::vector<float> RootTrial::roots() const {
  std::vector<float> host(static_cast<size_t>(roots_.elements()));
  device_.download(host.data(), roots_.data, roots_.bytes());
  return host;
}

int64_t RootTrial::failures() const {
  const std::vector<RootReport> all = reports();
  return std::count_if(all.begin(), all.end(), [](const RootReport& report) {
    return report.status == RootStatus::failed;
  });
}

}  // namespace dashlm
