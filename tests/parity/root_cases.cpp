// What the inverse roots are put together from.
#include <fmt/format.h>

#include <limits>

#include "ops/roots/newton_step.h"
#include "ops/roots/root_iteration.h"
#include "ops/roots/root_reports.h"
#include "ops/roots/spectral_root.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

using Size = SquareStack;

std::vector<Size> sizes_of(Sizes sizes) {
  if (sizes == Sizes::large) return {{6, 1024}};
  return {{1, 1}, {6, 2}, {6, 7}, {6, 33}};
}

// Blocks of which the second is zero, the third huge, the fourth tiny and the fifth not finite.
Tensor mixed_blocks(Run& run, const std::string& name, const Size& s) {
  const Tensor drawn = run.definite(name + " drawn", s.blocks, s.n);
  Doubles values = run.values(drawn);
  const double factors[] = {1, 0, 0x1p+80, 0x1p-80, std::numeric_limits<double>::infinity(), 1};
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = factors[i / static_cast<size_t>(s.n * s.n) % 6];
    values[i] = factor == 0 ? 0 : values[i] * factor;
  }
  return run.given(name, DType::f32, s.matrices(), values);
}

Tensor states(Run& run, const Size& s, std::vector<int32_t> pattern) {
  Doubles values;
  for (int64_t i = 0; i < s.blocks; ++i) {
    values.push_back(pattern[static_cast<size_t>(i) % pattern.size()]);
  }
  return run.updated(run.given("state", DType::i32, {s.blocks}, values), kExact);
}

Tensor counts(Run& run, const std::string& name, const Size& s) {
  return run.updated(run.integers(name, {s.blocks}, 0, 4), kExact);
}

// By powers of two, so that no bit may differ; what becomes of a block that is not finite is left
// open, but for its state.
void normalize_case(Run& run, const Size& s) {
  const Tensor factors = mixed_blocks(run, "factors", s);
  const Tensor unit = run.output("unit", DType::f32, {s.blocks}, kExact);
  const Tensor state = run.output("state", DType::i32, {s.blocks}, kExact);
  const Tensor out = run.output("out", DType::f32, s.matrices(), kExact);
  run.compute([&](Context& c) { normalize_blocks(c, out, unit, state, factors, 0x1p-100f); });
}

void correction_case(Run& run, const Size& s, bool first) {
  // Near I, which is done; elsewhere; far, which is a failure unless it is the first step.
  const Tensor drawn = run.definite("M drawn", s.blocks, s.n);
  Doubles values = run.values(drawn);
  const size_t block = static_cast<size_t>(s.n * s.n);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool diagonal = (i % block) % static_cast<size_t>(s.n + 1) == 0;
    if (i / block % 3 == 0) values[i] = (diagonal ? 1 : 0) + 1e-8 * values[i];
    if (i / block % 3 == 2) values[i] *= 4;
  }
  const Tensor m = run.given("M", DType::f32, s.matrices(), values);
  const Tensor state = states(run, s, {kActive, kActive, kActive, kZero});
  const Tensor steps = counts(run, "steps", s);
  const Tensor residual = run.updated(run.normal("residual", DType::f32, {s.blocks}), kExact);
  const Tensor n =
      run.updated(run.normal("N", DType::f32, s.matrices()), {4 * kRoundoff, 4 * kRoundoff});
  run.compute([&](Context& c) {
    newton_correction(
        c, n, m, 1.25f, -0.25f,
        {.state = state, .steps = steps, .residual = residual, .tolerance = 1e-6f, .first = first});
  });
}

void restart_case(Run& run, const Size& s) {
  const Tensor state =
      states(run, s, {kActive, kZero, kFailed, 0, kActive | kLate, kFailed | kLate});
  run.compute([&](Context& c) { restart_blocks(c, state); });
}

void spectral_case(Run& run, const Size& s, const SpectralRoot& options) {
  // In ascending order as from eigh(), some below zero.
  Doubles sorted;
  for (int64_t i = 0; i < s.blocks * s.n; ++i) {
    sorted.push_back(static_cast<double>(i % s.n) * 0.37 - 0.01 + 0.001 * static_cast<double>(i));
  }
  const Tensor values = run.given("values", DType::f32, {s.blocks, s.n}, sorted);
  const Tensor unit =
      run.given("unit", DType::f32, {s.blocks}, Doubles(static_cast<size_t>(s.blocks), 4));
  const Tensor state = states(run, s, {kActive, kActive, kZero, kFailed});
  const Bound bound{8 * kRoundoff, 0};
  const Tensor weights = run.updated(run.normal("weights", DType::f32, {s.blocks, s.n}), bound);
  const Tensor largest = run.updated(run.normal("largest", DType::f32, {s.blocks}), bound);
  const Tensor condition = run.updated(run.normal("condition", DType::f32, {s.blocks}), bound);
  run.compute([&](Context& c) {
    spectral_root(c, {weights, largest, condition, values, unit, state}, options);
  });
}

// Below the limit, at it, above it and nowhere.
void fail_above_case(Run& run, const Size& s) {
  constexpr double kValues[] = {0.5, 2, 2.5, std::numeric_limits<double>::quiet_NaN()};
  Doubles values;
  for (int64_t i = 0; i < s.blocks; ++i) values.push_back(kValues[i % 4]);
  const Tensor value = run.given("value", DType::f32, {s.blocks}, values);
  const Tensor state =
      states(run, s, {kActive, kActive, kActive, kActive, kActive | kLate, kZero, kZero});
  run.compute([&](Context& c) { fail_above(c, state, value, 2.0f); });
}

void store_case(Run& run, const Size& s, bool multiply) {
  const Tensor result = mixed_blocks(run, "result", s);
  const Tensor roots = run.updated(run.normal("roots", DType::f32, s.matrices()), kExact);
  const Tensor multiplier = run.normal("multiplier", DType::f32, {s.blocks}, 0.1, 1);
  const Tensor state = states(run, s, {kActive, kZero, kActive, 0, kActive, kFailed});
  run.compute(
      [&](Context& c) { store_roots(c, roots, result, multiply ? multiplier : Tensor{}, state); });
}

void report_case(Run& run, const Size& s, bool iterative) {
  const Tensor unit =
      run.given("unit", DType::f32, {s.blocks}, Doubles(static_cast<size_t>(s.blocks), 0.25));
  const Tensor state = states(run, s, {kActive, kZero, kFailed, 0, kLate, kFailed | kLate});
  const auto scalars = [&](const char* name) {
    return run.updated(run.normal(name, DType::f32, {s.blocks}, 0.1, 2), kExact);
  };
  RootReports reports;
  reports.status = run.output("status", DType::i32, {s.blocks}, kExact);
  reports.steps = counts(run, "steps", s);
  reports.failures = counts(run, "failures", s);
  reports.residual = scalars("residual");
  reports.scale = scalars("scale");
  reports.condition = scalars("condition");
  run.compute([&](Context& c) { report_roots(c, reports, state, unit, iterative); });
}

void add_spectral(Cases& cases, const Size& s) {
  for (const auto& [heuristic, name] : EnumNames<EigenvalueHeuristic>::names) {
    for (const char* kind : {"relative ridge", "double ridge", "rank_rtol"}) {
      const SpectralRoot options{.exponent = 0.25,
                                 .ridge = 1e-3,
                                 .relative_ridge = kind[0] == 'r',
                                 .double_ridge = kind[0] == 'd',
                                 .heuristic = heuristic,
                                 .rank_rtol = kind == std::string("rank_rtol") ? 0.3 : 0.0};
      cases.push_back({"spectral_root",
                       fmt::format("spectral_root {} {}, {}", s.text(), name, kind),
                       [=](Run& run) { spectral_case(run, s, options); }});
    }
  }
}

}  // namespace

void add_root_cases(Cases& cases, Sizes sizes) {
  for (const Size& s : sizes_of(sizes)) {
    const auto add = adder(cases, s.text());
    add("normalize_blocks", "", [=](Run& run) { normalize_case(run, s); });
    add("newton_correction", " first", [=](Run& run) { correction_case(run, s, true); });
    add("newton_correction", " later", [=](Run& run) { correction_case(run, s, false); });
    add("restart_blocks", "", [=](Run& run) { restart_case(run, s); });
    add_spectral(cases, s);
    add("fail_above", "", [=](Run& run) { fail_above_case(run, s); });
    add("store_roots", "", [=](Run& run) { store_case(run, s, false); });
    add("store_roots", " times a number", [=](Run& run) { store_case(run, s, true); });
    add("report_roots", " iterative", [=](Run& run) { report_case(run, s, true); });
    add("report_roots", " direct", [=](Run& run) { report_case(run, s, false); });
  }
}

}  // namespace dashlm::parity
