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

}  // namespace

std::unique_ptr<InverseRoot> make_inverse_root(const InverseRootConfig& config) {
  return std::visit(Factory{}, config.method);
}

int64_t root_order(double exponent) {
  if (!(exponent > 1e-3)) return 0;
  const double p = std::round(1.0 / exponent);
  return std::fabs(exponent * p - 1.0) < 1e-3 ? static_cast<int64_t>(p) : 0;
}

}  // namespace dashlm
