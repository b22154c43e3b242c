// What the block-Shampoo optimizers report on their factors.
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

double largest_condition(const InverseRootConfig::Method& method) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).exponent = 0.5;
  block_shampoo(config).statistics_every = 1;
  block_shampoo(config).inverse_root.method = method;
  StepLab lab(config, ParameterLayout({{"w", {4, 4}, 0, 1}}));
  lab.run(8);
  for (const BlockStatistics& group : lab.statistics()) {
    for (const auto& [name, value] : group.values) {
      if (name == "condition_max") return value;
    }
  }
  ADD_FAILURE() << "no condition";
  return 0;
}

// Enough steps to find the root of these well-conditioned factors. Power iterations miss a little,
// a Frobenius norm is up to twice the largest of four eigenvalues.
TEST(Statistics, GiveTheConditionOfFactorsForEveryMethod) {
  const double exact = largest_condition(EvdConfig{.ridge = 0});
  ASSERT_GT(exact, 3);
  ScalingConfig pooled, frobenius{.type = ScalingType::frobenius};
  for (const ScalingConfig& scaling : {pooled, frobenius}) {
    const double most = scaling.type == ScalingType::frobenius ? 2.0 : 1.02;
    CoupledNewtonConfig coupled_newton;
    NewtonDbConfig newton_db;
    coupled_newton.steps = newton_db.steps = 40;
    coupled_newton.scaling = newton_db.scaling = scaling;
    const ChebyshevConfig chebyshev{
        .degree = 500, .ridge = 1e-3, .ridge_type = RidgeType::relative, .scaling = scaling};
    for (const InverseRootConfig::Method& method :
         std::initializer_list<InverseRootConfig::Method>{coupled_newton, newton_db, chebyshev}) {
      const double found = largest_condition(method);
      EXPECT_GT(found, 0.9 * exact) << enum_name(InverseRootConfig{method}.type());
      EXPECT_LT(found, most * exact) << enum_name(InverseRootConfig{method}.type());
    }
  }
}

}  // namespace
}  // namespace dashlm::testing
