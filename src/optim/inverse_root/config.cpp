#include "optim/inverse_root/config.h"

#include "base/error.h"

namespace dashlm {
namespace {

// More than half of the spectrum's range would not be a question of rank.
constexpr double kMostRankRtol = 0.5;

constexpr const char* kMatmulHelp = "precision of the operands of matrix products";
constexpr const char* kRidgeTypeHelp =
    "absolute: the ridge itself is added; relative: ridge times the block's largest eigenvalue "
    "(iterations: the estimate of it by which they scale)";

InverseRootConfig::Method method_of(InverseRootType type) {
  switch (type) {
    case InverseRootType::evd:
      return EvdConfig{};
    case InverseRootType::coupled_newton:
      return CoupledNewtonConfig{};
    case InverseRootType::newton_db:
      return NewtonDbConfig{};
    case InverseRootType::chebyshev:
      return ChebyshevConfig{};
  }
  return {};
}

}  // namespace

double ScalingConfig::margin() const {
  const bool estimates =
      type == ScalingType::power_iteration || type == ScalingType::multi_power_iteration;
  return estimates ? factor : 1.0;
}

void ScalingConfig::describe(Schema& schema) {
  schema.field("type", type, "how s, by which a matrix is divided, is found");
  const bool pooled = type == ScalingType::multi_power_iteration;
  if (!pooled && type != ScalingType::power_iteration) return;
  if (pooled)
    schema.field("pool", pool, "random start vectors; the largest estimate counts", {1, 1024});
  schema.field("steps", steps, "products of the matrix with each start vector", {1, 1000});
  schema.field("factor", factor, "s as a multiple of the estimate", {1.0, 1000.0});
  schema.field("matmul", matmul, "precision of the operands of these products; published: bf16");
}

void EvdConfig::describe(Schema& schema) {
  schema.field("ridge", ridge, "added to the eigenvalues", {0.0, 1e30});
  schema.field("ridge_type", ridge_type,
               "absolute: the ridge itself is added; relative: ridge times the largest eigenvalue");
  schema.field("double_ridge", double_ridge,
               "add the ridge to the matrix as well, as DASH does; Distributed Shampoo does not");
  schema.field(
      "eigenvalue_heuristic", heuristic,
      "what becomes of eigenvalues that are not positive; abs does not add the ridge, so that "
      "it counts only with double_ridge");
  schema.field("rank_rtol", rank_rtol,
               "eigenvalues below rank_rtol times the largest get root 0, as in a pseudo-inverse; "
               "0: none do, as published",
               {0.0, kMostRankRtol});
  schema.field("precision", precision,
               "of the decomposition; a block that fails is redone in float64");
  schema.field("matmul", matmul,
               "precision of the operands of the product that makes the root of eigenvectors and "
               "-values");
}

void NewtonConfig::describe(Schema& schema) {
  schema.field("matmul", matmul, kMatmulHelp);
  schema.field("steps", steps, "Newton steps at most, for each root", {1, 1000});
  schema.field("tolerance", tolerance, "a block is done once max |M - I| is below it", {0.0, 1.0});
  schema.field("ridge", ridge, "added to the diagonal", {0.0, 1e30});
  schema.field("ridge_type", ridge_type, kRidgeTypeHelp);
  schema.section("scaling", scaling, "what the matrix is divided by first");
}

void CoupledNewtonConfig::describe(Schema& schema) {
  NewtonConfig::describe(schema);
  schema.field("root_matmul", root_matmul,
               "precision of the operands of X·N, which collects the errors of all steps; matmul "
               "is that of the other products");
}

void ChebyshevConfig::describe(Schema& schema) {
  schema.field("matmul", matmul, kMatmulHelp);
  schema.field("degree", degree, "of the polynomial; as many products less one", {2, 10000});
  schema.field("ridge", ridge,
               "added to the diagonal; also where the polynomial's interval [ridge, 1 + ridge] "
               "begins",
               {0.0, 1e30});
  schema.field("ridge_type", ridge_type, kRidgeTypeHelp);
  schema.section("scaling", scaling, "what the matrix is divided by first");
}

const ScalingConfig* InverseRootConfig::scaling() const {
  const auto scaling_of = [](const auto& config) -> const ScalingConfig* {
    if constexpr (requires { config.scaling; }) return &config.scaling;
    return nullptr;
  };
  return std::visit(scaling_of, method);
}

std::string InverseRootConfig::warning() const {
  const auto* evd = std::get_if<EvdConfig>(&method);
  if (!evd || evd->heuristic != EigenvalueHeuristic::abs || evd->double_ridge || evd->ridge == 0) {
    return "";
  }
  return fmt::format(
      "optimizer.inverse_root.ridge = {} has no effect, since eigenvalue_heuristic is \"abs\" and "
      "double_ridge is false; choose \"abs_plus_eps\", or set ridge to 0",
      evd->ridge);
}

void InverseRootConfig::describe(Schema& schema) {
  InverseRootType chosen = type();
  schema.field("type", chosen, "method for inverse roots");
  if (chosen != type()) method = method_of(chosen);
  std::visit([&](auto& config) { config.describe(schema); }, method);
}

}  // namespace dashlm
