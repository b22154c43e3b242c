// Linear algebra on stacks of symmetric matrices, apart from products.
#include <fmt/format.h>

#include <numeric>

#include "ops/stacks/stack_linalg.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

using Size = SquareStack;

std::vector<Size> sizes_of(Sizes sizes) {
  if (sizes == Sizes::large) return {{4, 1024}, {1, 2048}};
  return {{1, 1}, {3, 2}, {2, 7}, {2, 33}};
}

// Of a norm or a product with a vector: sums of terms of one sign.
Bound norm_bound(const Size& s) {
  return {4 * kRoundoff * std::sqrt(static_cast<double>(s.n * s.n)), 0};
}

void diagonal_case(Run& run, const Size& s) {
  const Tensor matrix = run.normal("matrix", DType::f32, s.matrices());
  const Tensor a = run.normal("a", DType::f32, {s.blocks});
  const Tensor b = run.normal("b", DType::f32, {s.blocks});
  const Bound bound{4 * kRoundoff, 4 * kRoundoff};
  const Tensor c = run.output("C", DType::f32, s.matrices(), bound);
  const Tensor in_place = run.updated(run.normal("in place", DType::f32, s.matrices()), bound);
  run.compute([&](Context& context) {
    identity_plus(context, c, {1.5f, a}, {-0.5f, b}, matrix);
    identity_plus(context, in_place, {2.0f}, {0.3f, b}, in_place);
    add_to_diagonal(context, in_place, {0.25f, a});
    add_to_diagonal(context, c, {0.125f});
  });
}

void power_case(Run& run, const Size& s) {
  const Tensor x = run.normal("x", DType::f32, {s.blocks}, 0.1, 2);
  const Tensor y = run.normal("y", DType::f32, {s.blocks}, 0.1, 3);
  const Bound bound{2 * kRoundoff, 0};
  const Tensor one = run.output("of x", DType::f32, {s.blocks}, bound);
  const Tensor both = run.output("of x and y", DType::f32, {s.blocks}, bound);
  run.compute([&](Context& c) {
    scaled_power(c, one, x, {}, 1.5, -0.25);
    scaled_power(c, both, x, y, 0.5, 0.5);
  });
}

void norms_case(Run& run, const Size& s) {
  const Tensor matrix = run.definite("matrix", s.blocks, s.n);
  const Tensor frobenius = run.output("Frobenius norm", DType::f32, {s.blocks}, norm_bound(s));
  const Tensor bound = run.output("bound", DType::f32, {s.blocks}, norm_bound(s));
  run.compute([&](Context& c) {
    frobenius_norm(c, frobenius, matrix);
    eigenvalue_bound(c, bound, matrix);
  });
}

// The roundoff of operands of this precision.
double roundoff_of(MatmulPrecision precision) {
  if (precision == MatmulPrecision::fp32) return kRoundoff;
  return precision == MatmulPrecision::bf16 ? 0x1p-8 : 0x1p-11;
}

void power_iteration_case(Run& run, const Size& s, int64_t pool,
                          MatmulPrecision precision = MatmulPrecision::fp32) {
  const Tensor matrix = run.definite("matrix", s.blocks, s.n);
  std::vector<int64_t> ids(static_cast<size_t>(s.blocks));
  std::iota(ids.begin(), ids.end(), 5);
  // Each product rounds the vector, whose error the later ones do not increase by much.
  Bound bound = norm_bound(s);
  bound.element += 10 * 4 * kRoundoff;
  // An element of a vector may be rounded the other way.
  if (precision != MatmulPrecision::fp32) {
    bound.element += 2 * roundoff_of(precision) / static_cast<double>(s.n);
  }
  const Tensor out = run.output("estimate", DType::f32, {s.blocks}, bound);
  run.compute([&](Context& c) {
    power_iteration(c, out, matrix,
                    {.pool = pool, .seed = 3, .step = 7, .block_ids = ids, .precision = precision});
  });
}

// Eigenvectors are not unique: what they and the values make together is compared. LAPACK promises
// values to within a modest multiple of n roundoffs of the norm; in practice it is sqrt(n).
void eigh_case(Run& run, const Size& s, EighPrecision precision) {
  const Tensor matrix = run.definite("matrix", s.blocks, s.n);
  const double noise = 16 * kRoundoff * std::sqrt(static_cast<double>(s.n));
  const Tensor values = run.output("values", DType::f32, {s.blocks, s.n}, {8 * kRoundoff, noise});
  // Elements off the diagonal are small beside the norm.
  const Tensor again = run.output("reconstruction", DType::f32, s.matrices(),
                                  {16 * noise, noise * std::sqrt(static_cast<double>(s.n))});
  Doubles states(static_cast<size_t>(s.blocks), kActive);
  const Tensor state = run.updated(run.given("state", DType::i32, {s.blocks}, states), kExact);
  const Tensor vectors = run.normal("vectors", DType::f32, s.matrices());
  run.compute([&](Context& c) {
    eigh(c, values, vectors, matrix, state, precision);
    from_spectrum(c, again, values, vectors, state);
  });
}

void spectrum_case(Run& run, const Size& s, MatmulPrecision precision) {
  const Tensor vectors = run.normal("vectors", DType::f32, s.matrices());
  const Tensor weights = run.normal("weights", DType::f32, {s.blocks, s.n});
  Doubles states(static_cast<size_t>(s.blocks), kActive);
  if (s.blocks > 1) states[0] = kZero;
  const Tensor state = run.given("state", DType::i32, {s.blocks}, states);
  const Tensor c =
      run.updated(run.normal("C", DType::f32, s.matrices()), sum_bound(DType::f32, s.n));
  run.compute(
      [&](Context& context) { from_spectrum(context, c, weights, vectors, state, precision); });
}

}  // namespace

void add_stack_cases(Cases& cases, Sizes sizes) {
  for (const Size& s : sizes_of(sizes)) {
    const auto add = adder(cases, s.text());
    add("diagonals", "", [=](Run& run) { diagonal_case(run, s); });
    add("scaled_power", "", [=](Run& run) { power_case(run, s); });
    add("norms", "", [=](Run& run) { norms_case(run, s); });
    add("power_iteration", "", [=](Run& run) { power_iteration_case(run, s, 1); });
    add("power_iteration", " pool 16", [=](Run& run) { power_iteration_case(run, s, 16); });
    add("power_iteration", " bf16",
        [=](Run& run) { power_iteration_case(run, s, 1, MatmulPrecision::bf16); });
    for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
      add("from_spectrum", fmt::format(" {}", name),
          [=, p = precision](Run& run) { spectrum_case(run, s, p); });
    }
    add("eigh", " float32", [=](Run& run) { eigh_case(run, s, EighPrecision::float32); });
    // In fp64 a GPU takes seconds for what has no more to show.
    if (sizes == Sizes::small) {
      add("eigh", " float64", [=](Run& run) { eigh_case(run, s, EighPrecision::float64); });
    }
  }
}

}  // namespace dashlm::parity
