// Coupled Newton for A^(-1/p) (Iannazzo 2006; Guo and Higham 2006, "A Schur-Newton method for the
// matrix pth root and its inverse"):
//
//   s = scale(A),  z = (p+1)/(2s),  X = z^(1/p)·I,  M = z·A
//   N = (1 + 1/p)·I - M/p,  X <- X·N,  M <- N^p·M     until max |M - I| < tolerance
//
// Kept out of X is the factor z^(1/p), which the result gets at the end; so the first X is N
// itself. The M of the last step is used by nobody and not computed.
#include <cmath>
#include <utility>

#include "optim/inverse_root/methods.h"
#include "optim/inverse_root/scaling.h"

namespace dashlm {
namespace {

class CoupledNewton final : public StackRoot {
 public:
  explicit CoupledNewton(const CoupledNewtonConfig& config) : config_(config) {}

  void check_exponent(double exponent) const override {
    const int64_t p = root_order(exponent);
    require(p >= 1 && p <= 4,
            "exponent = {}: coupled_newton computes exponents 1, 1/2, 1/3 and 1/4 only; use evd or "
            "chebyshev for others",
            exponent);
  }

  double products(double exponent) const override {
    const double steps = static_cast<double>(config_.steps);
    return (steps - 1) + (steps - 1) * products_for_m(root_order(exponent));
  }

 protected:
  double absolute_ridge() const override {
    return config_.ridge_type == RidgeType::absolute ? config_.ridge : 0.0;
  }

  RootResult solve(Context& context, RootBatch& batch) const override {
    add_ridge_and_scale(context, batch, config_.scaling, config_.ridge, config_.ridge_type);
    const int64_t p = root_order(batch.exponent);
    const double order = static_cast<double>(p), start = (order + 1) / 2;
    const auto take = [&](const char* name) {
      return context.scratch.take(name, batch.matrix.shape);
    };
    Tensor m = batch.matrix, next_m = take("cn.M"), x = take("cn.X"), next_x = take("cn.next X");
    const Tensor n = take("cn.N"), power = take("cn.power");
    const Tensor z = context.scratch.take("cn.z", batch.scale.shape);

    scaled_power(context, z, batch.scale, nullptr, start, -1.0);
    identity_plus(context, m, {}, {1.0f, &z}, m);
    NewtonTest test{.state = batch.state,
                    .steps = batch.steps,
                    .residual = batch.residual,
                    .tolerance = static_cast<float>(config_.tolerance)};
    for (int64_t k = 0; k < config_.steps; ++k) {
      test.first = k == 0;
      const Tensor& correction = test.first ? x : n;
      newton_correction(context, correction, m, static_cast<float>(1 + 1 / order),
                        static_cast<float>(-1 / order), test);
      if (k + 1 < config_.steps) {
        advance(context, batch, p, next_m, m, correction, power, next_x);
        std::swap(m, next_m);
      }
      if (!test.first) {
        // In fp32 whatever `matmul` says: X collects the errors of all steps.
        symmetric_matmul(context, next_x, x, n,
                         {.state = &batch.state, .inactive = SymmetricMatmul::Inactive::copy_a});
        std::swap(x, next_x);
      }
    }
    return {x, std::pow(start, 1 / order)};
  }

 private:
  static double products_for_m(int64_t p) { return p == 1 ? 1 : p == 2 ? 2 : 3; }

  // next_m = m·N^p; `power` and `spare` are overwritten.
  void advance(Context& context, const RootBatch& batch, int64_t p, const Tensor& next_m,
               const Tensor& m, const Tensor& n, const Tensor& power, const Tensor& spare) const {
    const auto multiply = [&](const Tensor& c, const Tensor& a, const Tensor& b) {
      symmetric_matmul(context, c, a, b, {.precision = config_.matmul, .state = &batch.state});
    };
    const Tensor* to_the_p = &n;
    if (p >= 2) {
      multiply(power, n, n);
      to_the_p = &power;
    }
    if (p >= 3) {
      multiply(spare, power, p == 3 ? n : power);
      to_the_p = &spare;
    }
    symmetric_matmul(context, next_m, m, *to_the_p,
                     {.precision = config_.matmul,
                      .state = &batch.state,
                      .inactive = SymmetricMatmul::Inactive::copy_a});
  }

  const CoupledNewtonConfig config_;
};

}  // namespace

std::unique_ptr<InverseRoot> make_coupled_newton(const CoupledNewtonConfig& config) {
  return std::make_unique<CoupledNewton>(config);
}

}  // namespace dashlm
