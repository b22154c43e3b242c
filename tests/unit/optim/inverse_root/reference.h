// The iterations in float64, written out as published: each step with all its products.
#pragma once

#include <cmath>
#include <numbers>

#include "support/dense.h"

namespace dashlm::testing {

// A^(-1/p) by coupled Newton with scale s.
inline Dense reference_coupled_newton(const Dense& a, int p, double s, int steps) {
  const double z = (p + 1) / (2 * s);
  Dense x = plus_identity(std::pow(z, 1.0 / p), 0.0, a), m = plus_identity(0.0, z, a);
  for (int k = 0; k < steps && distance_to_identity(m) >= 1e-6; ++k) {
    const Dense n = plus_identity(1 + 1.0 / p, -1.0 / p, m);
    x = x * n;
    for (int i = 0; i < p; ++i) m = n * m;
  }
  return x;
}

struct DenmanBeavers {
  Dense root, inverse_root;
};

// Square root and inverse square root of A by Newton-Denman-Beavers with scale s.
inline DenmanBeavers reference_newton_db(const Dense& a, double s, int steps) {
  Dense y = plus_identity(0.0, 1 / s, a), z = Dense::identity(a.n);
  for (int k = 0; k < steps; ++k) {
    const Dense zy = z * y;
    if (distance_to_identity(zy) < 1e-6) break;
    const Dense e = plus_identity(1.5, -0.5, zy);
    y = y * e;
    z = e * z;
  }
  return {plus_identity(0.0, std::sqrt(s), y), plus_identity(0.0, 1 / std::sqrt(s), z)};
}

inline Dense reference_newton_db(const Dense& a, int p, double s, int steps) {
  const DenmanBeavers first = reference_newton_db(a, s, steps);
  if (p == 2) return first.inverse_root;
  return reference_newton_db(first.root, std::sqrt(s), steps).inverse_root;
}

// A^(-e) by the Chebyshev polynomial of `degree` that is fitted on [eps, 1 + eps]. Evaluated by
// the recurrence of the polynomials, T_{k+1} = 2X·T_k - T_{k-1}, not by Clenshaw's.
inline Dense reference_chebyshev(const Dense& a, double e, double s, int degree, double eps) {
  constexpr int kSamples = 10000;
  const Dense x = plus_identity(-1.0, 2 / s, a);
  Dense before = Dense::identity(a.n), t = x, sum(a.n);
  for (int k = 0; k <= degree; ++k) {
    double c = 0;
    for (int j = 0; j < kSamples; ++j) {
      const double angle = std::numbers::pi * (j + 0.5) / kSamples;
      c += std::pow((1 + std::cos(angle)) / 2 + eps, -e) * std::cos(k * angle);
    }
    c *= (k == 0 ? 1.0 : 2.0) / kSamples;
    const Dense& term = k == 0 ? before : t;
    for (size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += c * term.data[i];
    if (k == 0) continue;
    Dense next = x * t;
    for (size_t i = 0; i < next.data.size(); ++i) next.data[i] = 2 * next.data[i] - before.data[i];
    before = std::move(t);
    t = std::move(next);
  }
  return plus_identity(0.0, std::pow(s, -e), sum);
}

}  // namespace dashlm::testing
