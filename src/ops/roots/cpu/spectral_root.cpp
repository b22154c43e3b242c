#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/parallel.h"
#include "ops/roots/backends.h"

namespace dashlm::cpu {
namespace {

double with_ridge(double v, double least, double eps, EigenvalueHeuristic heuristic) {
  switch (heuristic) {
    case EigenvalueHeuristic::shift:
      return v + eps - std::min(least, 0.0);
    case EigenvalueHeuristic::abs:
      return std::fabs(v);
    case EigenvalueHeuristic::abs_plus_eps:
      return std::fabs(v) + eps;
    case EigenvalueHeuristic::relu:
      return std::max(v, 0.0) + eps;
  }
  return v;
}

}  // namespace

void spectral_root(Context&, const SpectralRootTensors& t, const SpectralRoot& options) {
  const int64_t n = t.values.dim(1);
  parallel_ranges(t.values.dim(0), 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      t.largest.f32()[s] = t.condition.f32()[s] = 0.0f;
      if (!(t.state.i32()[s] & kActive)) continue;
      const float* v = t.values.f32() + s * n;
      const double one = static_cast<double>(t.unit.f32()[s]);
      const double most = std::max(std::fabs(v[0]), std::fabs(v[n - 1]));
      const double eps = options.relative_ridge ? options.ridge * most * one : options.ridge;
      const double added = options.double_ridge ? eps : 0.0;
      double low = std::numeric_limits<double>::infinity(), high = 0;
      // With a cut-off the least that counts is positive: there is nothing to shift by.
      const bool cut = options.rank_rtol > 0;
      const double least = cut ? 0.0 : v[0] * one + added;
      for (int64_t i = 0; i < n; ++i) {
        t.weights.f32()[s * n + i] = 0.0f;
        if (cut && v[i] < options.rank_rtol * most) continue;
        const double h = with_ridge(v[i] * one + added, least, eps, options.heuristic);
        low = std::min(low, h);
        high = std::max(high, h);
        if (h > 0) t.weights.f32()[s * n + i] = static_cast<float>(std::pow(h, -options.exponent));
      }
      t.largest.f32()[s] = static_cast<float>(most);
      t.condition.f32()[s] =
          low > 0 ? static_cast<float>(high / low) : std::numeric_limits<float>::infinity();
    }
  });
}

}  // namespace dashlm::cpu
