#include "ops/roots/root_iteration.h"

#include <atomic>
#include <bit>
#include <cmath>

#include "ops/stacks/cpu/linalg_kernels.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

constexpr uint32_t kInfinity = 0x7F800000u;  // bits; those of NaN are larger

// Bits of |x|. As integers they are ordered like magnitudes, with NaN above infinity, so that a
// maximum over them finds whatever is wrong.
uint32_t magnitude_bits(float x) {
  return std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu;
}

uint32_t largest_bits(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude_bits(x[i]));
  return largest;
}

// The largest power of two that is at most x, for a positive finite x.
float power_of_two_below(float x) {
  return std::ldexp(1.0f, std::ilogb(x));
}

// value = max(value, candidate), where threads compete; both are not negative, or NaN.
void raise_to(float& value, uint32_t candidate) {
  const std::atomic_ref<float> shared(value);
  float present = shared.load(std::memory_order_relaxed);
  while (magnitude_bits(present) < candidate &&
         !shared.compare_exchange_weak(present, std::bit_cast<float>(candidate),
                                       std::memory_order_relaxed)) {
  }
}

// N = a·I + b·M on the elements [begin, end) of a block; returns the bits of max |M - I| there.
uint32_t correct(float* out, const float* in, int64_t n, int64_t begin, int64_t end, float a,
                 float b) {
  uint32_t largest = 0;
  for (int64_t row = begin / n; row * n < end; ++row) {
    const int64_t from = std::max(begin, row * n), to = std::min(end, (row + 1) * n);
    const int64_t middle = row * (n + 1);
    const bool has_diagonal = middle >= from && middle < to;
    const float diagonal = has_diagonal ? in[middle] : 1.0f;
    // The diagonal element counts as M, not M - I, unless it is taken out first.
    const auto part = [&](int64_t first, int64_t last) {
      uint32_t most = 0;
      for (int64_t i = first; i < last; ++i) {
        most = std::max(most, magnitude_bits(in[i]));
        out[i] = b * in[i];
      }
      largest = std::max(largest, most);
    };
    part(from, has_diagonal ? middle : to);
    if (has_diagonal) {
      largest = std::max(largest, magnitude_bits(diagonal - 1.0f));
      out[middle] = a + b * diagonal;
      part(middle + 1, to);
    }
  }
  return largest;
}

// What a block does after its residual is known.
void judge(const NewtonTest& test, int64_t s) {
  constexpr float kDiverged = 2.0f;  // see root_iteration.h
  int32_t& state = test.state.i32()[s];
  const float residual = test.residual.f32()[s];
  if (!std::isfinite(residual) || (!test.first && residual > kDiverged)) {
    state = kFailed;
  } else if (residual < test.tolerance) {
    state &= ~kActive;
  } else {
    ++test.steps.i32()[s];
  }
}

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

void normalize_blocks(const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least) {
  const int64_t size = factors.dim(1) * factors.dim(2);
  for_each_block(factors, [&](int64_t s) {
    const float* in = factors.f32() + s * size;
    float* to = out.f32() + s * size;
    const uint32_t largest = largest_bits(in, size);
    state.i32()[s] = largest >= kInfinity ? kFailed : largest == 0 ? kZero : kActive;
    unit.f32()[s] = 1.0f;
    if (state.i32()[s] != kActive) {
      std::fill_n(to, size, 0.0f);
      return;
    }
    const float power = power_of_two_below(std::max(std::bit_cast<float>(largest), least));
    unit.f32()[s] = power;
    // 1 / power may overflow, its root does not: two exact multiplications.
    const int exponent = -std::ilogb(power);
    const float half = std::ldexp(1.0f, exponent / 2);
    const float other = std::ldexp(1.0f, exponent - exponent / 2);
    for (int64_t i = 0; i < size; ++i) to[i] = in[i] * half * other;
  });
}

void newton_correction(const Tensor& n, const Tensor& m, float a, float b, const NewtonTest& test) {
  const int64_t order = m.dim(1), size = order * order;
  const int32_t* state = test.state.i32();
  float* residual = test.residual.f32();
  for (int64_t s = 0; s < m.dim(0); ++s) {
    if (state[s] & kActive) residual[s] = 0.0f;
  }
  for_each_chunk(m, [&](int64_t s, int64_t begin, int64_t end) {
    if (!(state[s] & kActive)) return;
    const int64_t start = s * size;
    raise_to(residual[s],
             correct(n.f32() + start, m.f32() + start, order, begin - start, end - start, a, b));
  });
  for (int64_t s = 0; s < m.dim(0); ++s) {
    if (state[s] & kActive) judge(test, s);
  }
}

void restart_blocks(const Tensor& state) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    int32_t& flags = state.i32()[s];
    if (flags & (kFailed | kZero)) continue;
    if (flags & kActive) flags |= kLate;
    flags |= kActive;
  }
}

void spectral_root(const Tensor& weights, const Tensor& largest, const Tensor& condition,
                   const Tensor& values, const Tensor& unit, const Tensor& state,
                   const SpectralRoot& options) {
  const int64_t n = values.dim(1);
  parallel_ranges(values.dim(0), 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      largest.f32()[s] = condition.f32()[s] = 0.0f;
      if (!(state.i32()[s] & kActive)) continue;
      const float* v = values.f32() + s * n;
      const double one = static_cast<double>(unit.f32()[s]);
      const double most = std::max(std::fabs(v[0]), std::fabs(v[n - 1]));
      const double eps = options.relative_ridge ? options.ridge * most * one : options.ridge;
      const double added = options.double_ridge ? eps : 0.0;
      double low = std::numeric_limits<double>::infinity(), high = 0;
      // With a cut-off the least that counts is positive: there is nothing to shift by.
      const bool cut = options.rank_rtol > 0;
      const double least = cut ? 0.0 : v[0] * one + added;
      for (int64_t i = 0; i < n; ++i) {
        weights.f32()[s * n + i] = 0.0f;
        if (cut && v[i] < options.rank_rtol * most) continue;
        const double h = with_ridge(v[i] * one + added, least, eps, options.heuristic);
        low = std::min(low, h);
        high = std::max(high, h);
        if (h > 0) weights.f32()[s * n + i] = static_cast<float>(std::pow(h, -options.exponent));
      }
      largest.f32()[s] = static_cast<float>(most);
      condition.f32()[s] =
          low > 0 ? static_cast<float>(high / low) : std::numeric_limits<float>::infinity();
    }
  });
}

void fail_above(const Tensor& state, const Tensor& value, float limit) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    int32_t& flags = state.i32()[s];
    if ((flags & kActive) && !(value.f32()[s] <= limit)) flags = kFailed;
  }
}

void store_roots(const Tensor& roots, const Tensor& result, const Tensor* multiplier,
                 const Tensor& state) {
  const int64_t size = roots.dim(1) * roots.dim(2);
  for_each_block(roots, [&](int64_t s) {
    int32_t& flags = state.i32()[s];
    float* to = roots.f32() + s * size;
    const float* from = result.f32() + s * size;
    if (flags & kZero) std::fill_n(to, size, 0.0f);
    if (flags & (kZero | kFailed)) return;
    const float factor = multiplier ? multiplier->f32()[s] : 1.0f;
    // Rounding keeps order, so the largest product is finite if and only if all are.
    const float most = std::bit_cast<float>(largest_bits(from, size)) * factor;
    if (!std::isfinite(most) || !std::isfinite(factor)) {
      flags = kFailed;
      return;
    }
    for (int64_t i = 0; i < size; ++i) to[i] = factor * from[i];
  });
}

void report_roots(const RootReports& reports, const Tensor& state, const Tensor& unit,
                  bool iterative) {
  for (int64_t s = 0; s < state.elements(); ++s) {
    const int32_t flags = state.i32()[s];
    const bool failed = flags & kFailed, zero = flags & kZero;
    const bool late = (flags & kLate) || (iterative && (flags & kActive));
    const RootStatus status = failed ? RootStatus::failed
                              : late ? RootStatus::out_of_steps
                                     : RootStatus::ok;
    reports.status.i32()[s] = static_cast<int32_t>(status);
    int32_t& failures = reports.failures.i32()[s];
    failures = failed ? failures + 1 : 0;
    float &scale = reports.scale.f32()[s], &condition = reports.condition.f32()[s];
    scale = zero ? 0.0f : scale * unit.f32()[s];
    condition = zero ? 0.0f : condition;
  }
}

}  // namespace dashlm::cpu
