// The factories of the methods, one file each. CONTRIBUTING.md, "Add a solver for inverse roots",
// lists all places of a new one.
#pragma once

#include <memory>

#include "optim/inverse_root/inverse_root.h"

namespace dashlm {

// Eigen-decomposition: accurate, any exponent.
std::unique_ptr<InverseRoot> make_evd(const EvdConfig& config);
// Coupled Newton: e = 1/p with p = 1…4.
std::unique_ptr<InverseRoot> make_coupled_newton(const CoupledNewtonConfig& config);
// Newton-Denman-Beavers: e = 1/2, and 1/4 as the inverse root of a root.
std::unique_ptr<InverseRoot> make_newton_db(const NewtonDbConfig& config);
// Chebyshev polynomial: any exponent.
std::unique_ptr<InverseRoot> make_chebyshev(const ChebyshevConfig& config);

// The p for which e = 1/p, to the accuracy with which people write 1/3 as a decimal; 0 if there is
// none up to 1000.
int64_t root_order(double exponent);

}  // namespace dashlm
