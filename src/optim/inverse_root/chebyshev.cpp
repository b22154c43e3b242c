// A^(-e) by a Chebyshev polynomial: the cosine fit of x^(-e) on [eps, 1 + eps], evaluated at
// X = 2A/s - I by Clenshaw's recurrence (Clenshaw 1955)
//
//   B_K = c_K·I,  B_k = c_k·I + 2X·B_{k+1} - B_{k+2},  result = c_0·I + X·B_1 - B_2
//
// and multiplied by s^(-e), which the published code leaves out.
//
// Where eigenvalues of X lie in [-1, 1], the result's are at most c = Σ|c_k| in magnitude, since
// |T_k| <= 1 there, and its Frobenius norm is at most √n·c. An eigenvalue outside, of a matrix that
// is indefinite or larger than s, is multiplied by up to T_K(x), which grows like (2|x|)^K. So a
// result of twice that norm, which leaves room for rounding errors, is no root: the block has
// failed.
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "optim/inverse_root/methods.h"
#include "optim/inverse_root/scaling.h"

namespace dashlm {
namespace {

// c_0 … c_degree of x^(-exponent) with x = (1 + cos(angle))/2 + eps, by the midpoint rule.
std::vector<float> fit(double exponent, double eps, int64_t degree) {
  constexpr int kSamples = 10000;
  std::vector<double> sums(static_cast<size_t>(degree) + 1);
  for (int j = 0; j < kSamples; ++j) {
    const double angle = std::numbers::pi * (j + 0.5) / kSamples;
    const double half = std::cos(angle / 2);
    const double value = std::pow(half * half + eps, -exponent);
    for (size_t k = 0; k < sums.size(); ++k) {
      sums[k] += value * std::cos(static_cast<double>(k) * angle);
    }
  }
  std::vector<float> coefficients;
  for (size_t k = 0; k < sums.size(); ++k) {
    coefficients.push_back(static_cast<float>(sums[k] * (k == 0 ? 1.0 : 2.0) / kSamples));
  }
  return coefficients;
}

class Chebyshev final : public StackRoot {
 public:
  explicit Chebyshev(const ChebyshevConfig& config) : config_(config) {}

  void check_exponent(double exponent) const override {
    require(exponent > 0, "exponent = {}, but must be positive", exponent);
  }

  double products(double) const override { return static_cast<double>(config_.degree - 1); }

 protected:
  bool is_iterative() const override { return false; }
  double absolute_ridge() const override {
    return config_.ridge_type == RidgeType::absolute ? config_.ridge : 0.0;
  }

  void prepare(double exponent) override {
    if (exponent == fitted_exponent_) return;
    coefficients_ = fit(exponent, config_.ridge, config_.degree);
    largest_value_ = 0;
    for (const float c : coefficients_) largest_value_ += std::fabs(c);
    fitted_exponent_ = exponent;
  }

  RootResult solve(Context& context, RootBatch& batch) const override {
    add_ridge_and_scale(context, batch, config_.scaling, config_.ridge, config_.ridge_type);
    const std::vector<float>& c = coefficients_;
    const Shape shape = batch.matrix.shape;
    const SymmetricStack x = SymmetricStack::with_copy(context, batch.matrix, config_.matmul);
    const auto take = [&](const TensorName& name) {
      return SymmetricStack::take(context, name, shape, config_.matmul);
    };
    SymmetricStack b = take("chebyshev.B"), before = take("chebyshev.B before");
    const Tensor factor = context.scratch.take("chebyshev.2/s", {shape[0]});
    scaled_power(context, factor, batch.scale, {}, 2.0, -1.0);
    identity_plus(context, x.values, {-1.0f}, {1.0f, factor}, x.values);
    round_values(context, x);

    // B_K = c_K·I and B_{K-1} = c_{K-1}·I + 2·c_K·X need no product.
    const size_t degree = c.size() - 1;
    identity_plus(context, before.values, {c[degree]}, {}, x.values);
    identity_plus(context, b.values, {c[degree - 1]}, {2 * c[degree]}, x.values);
    round_values(context, b);
    for (size_t k = degree - 1; k-- > 0;) {
      symmetric_matmul(context, before, b, x,
                       {.alpha = k == 0 ? 1.0f : 2.0f,
                        .beta = -1.0f,
                        .diagonal = c[k],
                        .precision = config_.matmul,
                        .state = batch.state});
      std::swap(b, before);
    }
    fail_if_out_of_range(context, batch, b.values);
    return {b.values, 1.0};
  }

 private:
  void fail_if_out_of_range(Context& context, const RootBatch& batch, const Tensor& result) const {
    const Tensor norm = context.scratch.take("chebyshev.norm", batch.scale.shape);
    frobenius_norm(context, norm, result);
    const double most = std::sqrt(static_cast<double>(result.dim(1))) * largest_value_;
    fail_above(context, batch.state, norm, static_cast<float>(2 * most));
  }

  const ChebyshevConfig config_;
  double fitted_exponent_ = 0;
  std::vector<float> coefficients_;
  double largest_value_ = 0;  // Σ|c_k|
};

}  // namespace

std::unique_ptr<InverseRoot> make_chebyshev(const ChebyshevConfig& config) {
  return std::make_unique<Chebyshev>(config);
}

}  // namespace dashlm
