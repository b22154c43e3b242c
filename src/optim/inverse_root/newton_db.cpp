// Newton-Denman-Beavers for A^(1/2) and A^(-1/2) (Denman and Beavers 1976, in the product form of
// Higham, "Functions of Matrices", ch. 6):
//
//   Y = A/s,  Z = I
//   E = (3I - Z·Y)/2,  Y <- Y·E,  Z <- E·Z            until max |Z·Y - I| < tolerance
//   A^(1/2) = √s·Y,  A^(-1/2) = Z/√s
//
// The order of the factors matters although they commute. Rounded products are not symmetric, and
// only their lower triangle is kept. Other orders lose a digit on matrices of low rank.
//
// A^(-1/4) is the inverse square root of √s·Y with the scale √s. The first step needs one product
// only, since Z = I. The last step computes only Y or only Z. So p = 2 takes 1 + 3·9 - 1 products
// in 10 steps, and p = 4 twice as many.
#include <utility>

#include "optim/inverse_root/methods.h"
#include "optim/inverse_root/scaling.h"

namespace dashlm {
namespace {

class NewtonDb final : public StackRoot {
 public:
  explicit NewtonDb(const NewtonDbConfig& config) : config_(config) {}

  void check_exponent(double exponent) const override {
    const int64_t p = root_order(exponent);
    require(p == 2 || p == 4,
            "exponent = {}: newton_db computes exponents 1/2 and 1/4 only; use coupled_newton for "
            "1 and 1/3, evd or chebyshev for others",
            exponent);
  }

  double products(double exponent) const override {
    const double one_root = 3.0 * static_cast<double>(config_.steps) - 3.0;
    return root_order(exponent) == 4 ? 2 * one_root : one_root;
  }

 protected:
  double absolute_ridge() const override {
    return config_.ridge_type == RidgeType::absolute ? config_.ridge : 0.0;
  }

  RootResult solve(Context& context, RootBatch& batch) const override {
    add_ridge_and_scale(context, batch, config_.scaling, config_.ridge, config_.ridge_type);
    const auto take = [&](const TensorName& name) {
      return SymmetricStack::take(context, name, batch.matrix.shape, config_.matmul);
    };
    Iterates it{
        .y = SymmetricStack::with_copy(context, batch.matrix, config_.matmul),
        .next_y = take("ndb.next Y"),
        .z = take("ndb.Z"),
        .next_z = take("ndb.next Z"),
        .e = SymmetricStack::take_operand(context, "ndb.E", batch.matrix.shape, config_.matmul)};
    const Tensor inverse = context.scratch.take("ndb.1/s", batch.scale.shape);
    scaled_power(context, inverse, batch.scale, {}, 1.0, -1.0);
    identity_plus(context, it.y.values, {}, {1.0f, inverse}, it.y.values);
    round_values(context, it.y);
    if (root_order(batch.exponent) == 4) {
      iterate(context, batch, it, Wanted::root);
      restart_blocks(context, batch.state);
    }
    iterate(context, batch, it, Wanted::inverse_root);
    return {it.z.values, 1.0};
  }

 private:
  enum class Wanted { root, inverse_root };

  struct Iterates {
    SymmetricStack y, next_y, z, next_z, e;  // (S, n, n); E is multiplied by only
  };

  // From it.y and the identity to its root in it.y, or its inverse root in it.z.
  void iterate(Context& context, const RootBatch& batch, Iterates& it, Wanted wanted) const {
    SymmetricMatmul update_y{.precision = config_.matmul, .state = batch.state};
    SymmetricMatmul update_z = update_y;
    update_y.inactive = SymmetricMatmul::Inactive::copy_a;
    update_z.inactive = SymmetricMatmul::Inactive::copy_b;
    NewtonTest test{.state = batch.state,
                    .steps = batch.steps,
                    .residual = batch.residual,
                    .tolerance = static_cast<float>(config_.tolerance)};
    for (int64_t k = 0; k < config_.steps; ++k) {
      const bool last = k + 1 == config_.steps;
      test.first = k == 0;
      // In the first step Z·Y is Y, and E is the next Z.
      const SymmetricStack& e = test.first ? it.z : it.e;
      if (test.first) {
        newton_correction(context, e.values, it.y.values, 1.5f, -0.5f, test);
        round_values(context, e);
      } else {
        newton_product(context, {e, {}, it.z, it.y, config_.matmul}, 1.5f, -0.5f, test);
      }
      if (!last || wanted == Wanted::root) {
        symmetric_matmul(context, it.next_y, it.y, e, update_y);
        std::swap(it.y, it.next_y);
      }
      if (!test.first && (!last || wanted == Wanted::inverse_root)) {
        symmetric_matmul(context, it.next_z, e, it.z, update_z);
        std::swap(it.z, it.next_z);
      }
    }
  }

  const NewtonDbConfig config_;
};

}  // namespace

std::unique_ptr<InverseRoot> make_newton_db(const NewtonDbConfig& config) {
  return std::make_unique<NewtonDb>(config);
}

}  // namespace dashlm
