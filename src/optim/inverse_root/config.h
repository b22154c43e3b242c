// Configuration of the inverse roots: a method with its own keys, chosen by "type".
//
//   {"type": "newton_db", "matmul": "fp32", "scaling": {"type": "multi_power_iteration"}}
//
// Only the keys of the chosen type are described, so any other is an unknown key.
#pragma once

#include <string>
#include <variant>

#include "config/schema.h"
#include "ops/roots/spectral_root.h"

namespace dashlm {

// --- Scaling: the number s by which an iteration divides its matrix

enum class ScalingType { frobenius, power_iteration, multi_power_iteration, bound };

template <>
struct EnumNames<ScalingType> {
  static constexpr std::pair<ScalingType, const char*> names[] = {
      {ScalingType::frobenius, "frobenius"},
      {ScalingType::power_iteration, "power_iteration"},
      {ScalingType::multi_power_iteration, "multi_power_iteration"},
      {ScalingType::bound, "bound"},
  };
};

struct ScalingConfig {
  ScalingType type = ScalingType::multi_power_iteration;
  int64_t pool = 16;    // random start vectors (multi_power_iteration)
  int64_t steps = 10;   // products with a vector (both power iterations)
  double factor = 2.0;  // s = factor · estimate of lambda_max (both power iterations)
  // The precision of the products with vectors. The published code uses bf16, in which s may lie
  // below lambda_max.
  MatmulPrecision matmul = MatmulPrecision::fp32;

  // s as a multiple of the estimate of lambda_max: `factor`, or 1 if s is a norm.
  double margin() const;
  void describe(Schema& schema);
};

// --- Ridge: what is added to the diagonal

enum class RidgeType { absolute, relative };

template <>
struct EnumNames<RidgeType> {
  static constexpr std::pair<RidgeType, const char*> names[] = {
      {RidgeType::absolute, "absolute"},
      {RidgeType::relative, "relative"},
  };
};

// --- Methods

struct EvdConfig {
  double ridge = 1e-10;
  RidgeType ridge_type = RidgeType::absolute;
  bool double_ridge = true;  // Distributed Shampoo: false
  EigenvalueHeuristic heuristic = EigenvalueHeuristic::shift;
  // Eigenvalues below rank_rtol · lambda_max get root 0. With 0, as published, no eigenvalue does.
  // Rounding turns zeros into at most 4e-7 · lambda_max, and the default lies well above.
  // docs/inverse_roots.md has measurements.
  double rank_rtol = 1e-5;
  EighPrecision precision = EighPrecision::float32;  // a block that fails is redone in float64
  // The precision of the product that makes the root of eigenvectors. No library decomposes in half
  // precision.
  MatmulPrecision matmul = MatmulPrecision::fp32;

  void describe(Schema& schema);
};

// The keys of both CN and NDB.
struct NewtonConfig {
  MatmulPrecision matmul = MatmulPrecision::fp32;
  int64_t steps = 10;
  double tolerance = 1e-6;  // a block is done once max |M - I| is below it
  double ridge = 0.0;
  RidgeType ridge_type = RidgeType::absolute;
  ScalingConfig scaling;

  void describe(Schema& schema);
};

struct CoupledNewtonConfig : NewtonConfig {
  // The precision of X·N. X collects the errors of all steps, so X·N has a key of its own.
  MatmulPrecision root_matmul = MatmulPrecision::fp32;

  void describe(Schema& schema);
};
struct NewtonDbConfig : NewtonConfig {};

struct ChebyshevConfig {
  MatmulPrecision matmul = MatmulPrecision::fp32;
  int64_t degree = 60;
  double ridge = 1e-10;
  RidgeType ridge_type = RidgeType::absolute;
  ScalingConfig scaling;

  void describe(Schema& schema);
};

enum class InverseRootType { evd, coupled_newton, newton_db, chebyshev };  // the variant's order

template <>
struct EnumNames<InverseRootType> {
  static constexpr std::pair<InverseRootType, const char*> names[] = {
      {InverseRootType::evd, "evd"},
      {InverseRootType::coupled_newton, "coupled_newton"},
      {InverseRootType::newton_db, "newton_db"},
      {InverseRootType::chebyshev, "chebyshev"},
  };
};

struct InverseRootConfig {
  using Method = std::variant<EvdConfig, CoupledNewtonConfig, NewtonDbConfig, ChebyshevConfig>;
  Method method = NewtonDbConfig{};

  // A sentence about values that have no effect; "" if there is none.
  std::string warning() const;
  // The scaling of the method; null for EVD, which knows lambda_max itself.
  const ScalingConfig* scaling() const;
  InverseRootType type() const { return static_cast<InverseRootType>(method.index()); }
  void describe(Schema& schema);
};

}  // namespace dashlm
