// Coupled Newton for A^(-1/p) (Iannazzo 2006; Guo and Higham 2006, "A Schur-Newton method for the
// matrix pth root and its inverse"):
//
//   s = scale(A),  z = (p+1)/(2s),  X = z^(1/p)·I,  M = z·A
//   N = (1 + 1/p)·I - M/p,  X <- X·N,  M <- N^p·M     until max |M - I| < tolerance
//
// X is kept without the factor z^(1/p), which the result gets at the end. So the first X is N
// itself. The M of the last step is not computed, since nothing uses it. Each other M gives the
// next N at once, so X·N of a step is computed before its M.
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
    const NewtonTest test{.state = batch.state,
                          .steps = batch.steps,
                          .residual = batch.residual,
                          .tolerance = static_cast<float>(config_.tolerance)};
    const auto a = static_cast<float>(1 + 1 / order), b = static_cast<float>(-1 / order);
    Iterates it = begin(context, batch, start, a, b, test);
    for (int64_t k = 0; k < config_.steps; ++k) {
      if (k > 0) {
        symmetric_matmul(context, it.next_x, it.x, it.n,
                         {.precision = config_.root_matmul,
                          .state = batch.state,
                          .inactive = SymmetricMatmul::Inactive::copy_a});
        std::swap(it.x, it.next_x);
      }
      if (k + 1 == config_.steps) break;
      const SymmetricStack& n_to_p = power(context, batch, p, it, k == 0 ? it.x : it.n);
      newton_product(context, {it.n, it.next_m, it.m, n_to_p, config_.matmul}, a, b, test);
      std::swap(it.m, it.next_m);
    }
    return {it.x.values, std::pow(start, 1 / order)};
  }

 private:
  // All stacks are (S, n, n). X is the result and needs its values. N needs its values if X·N has
  // another precision than the other products. M and powers of N are only multiplied by.
  struct Iterates {
    SymmetricStack m, next_m, x, next_x, n, power;
  };

  static double products_for_m(int64_t p) { return p == 1 ? 1 : p == 2 ? 2 : 3; }

  // M = z·A and the first correction, which is X.
  Iterates begin(Context& context, const RootBatch& batch, double start, float a, float b,
                 NewtonTest test) const {
    const Shape& shape = batch.matrix.shape;
    const MatmulPrecision matmul = config_.matmul, root_matmul = config_.root_matmul;
    const auto take = matmul == root_matmul ? SymmetricStack::take_operand : SymmetricStack::take;
    Iterates it{.m = SymmetricStack::with_copy(context, batch.matrix, matmul),
                .next_m = SymmetricStack::take_operand(context, "cn.M", shape, matmul),
                .x = SymmetricStack::take(context, "cn.X", shape, root_matmul),
                .next_x = SymmetricStack::take(context, "cn.next X", shape, root_matmul),
                .n = take(context, "cn.N", shape, matmul),
                .power = SymmetricStack::take_operand(context, "cn.power", shape, matmul)};
    const Tensor z = context.scratch.take("cn.z", batch.scale.shape);
    scaled_power(context, z, batch.scale, {}, start, -1.0);
    identity_plus(context, it.m.values, {}, {1.0f, z}, it.m.values);
    test.first = true;
    newton_correction(context, it.x.values, it.m.values, a, b, test);
    round_values(context, it.m);
    round_values(context, it.x);
    it.m = it.m.as_operand();
    return it;
  }

  // N^p, in it.power; it.next_m is overwritten.
  const SymmetricStack& power(Context& context, const RootBatch& batch, int64_t p, Iterates& it,
                              const SymmetricStack& n) const {
    const auto multiply = [&](const SymmetricStack& c, const SymmetricStack& a,
                              const SymmetricStack& b) {
      symmetric_matmul(context, c, a, b, {.precision = config_.matmul, .state = batch.state});
    };
    if (p == 1) return n;
    const SymmetricStack& square = p == 2 ? it.power : it.next_m;
    multiply(square, n, n);
    if (p >= 3) multiply(it.power, square, p == 3 ? n : square);
    return it.power;
  }

  const CoupledNewtonConfig config_;
};

}  // namespace

std::unique_ptr<InverseRoot> make_coupled_newton(const CoupledNewtonConfig& config) {
  return std::make_unique<CoupledNewton>(config);
}

}  // namespace dashlm
