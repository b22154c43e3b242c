#include "optim/inverse_root/inverse_root.h"

#include <cmath>

#include "optim/inverse_root/methods.h"

namespace dashlm {
namespace {

struct Factory {
  std::unique_ptr<InverseRoot> operator()(const EvdConfig& config) const {
    return make_evd(config);
  }
  std::unique_ptr<InverseRoot> operator()(const CoupledNewtonConfig& config) const {
    return make_coupled_newton(config);
  }
  std::unique_ptr<InverseRoot> operator()(const NewtonDbConfig& config) const {
    return make_newton_db(config);
  }
  std::unique_ptr<InverseRoot> operator()(const ChebyshevConfig& config) const {
    return make_chebyshev(config);
  }
};

template <class T>
std::vector<T> downloaded(Device& device, const Tensor& from) {
  std::vector<T> to(static_cast<size_t>(from.elements()));
  device.download(to.data(), from.as<T>(), from.bytes());
  return to;
}

}  // namespace

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

std::unique_ptr<InverseRoot> make_inverse_root(const InverseRootConfig& config) {
  return std::visit(Factory{}, config.method);
}

int64_t root_order(double exponent) {
  if (!(exponent > 1e-3)) return 0;
  const double p = std::round(1.0 / exponent);
  return std::fabs(exponent * p - 1.0) < 1e-3 ? static_cast<int64_t>(p) : 0;
}

}  // namespace dashlm
