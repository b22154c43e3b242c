#include "ops/core/matmul.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Product {
  int64_t stack, m, n, k;  // stack 0: plain matrices
};

// Vector tails, single elements, and sizes around the parts that the CPU's kernels work on: tiles
// of 6 or 8 rows and 8, 16 or 32 columns, bands of 32 to 128 rows, 256 terms, 8192 terms.
const Product kProducts[] = {
    {0, 1, 1, 1},    {0, 1, 7, 3},      {0, 5, 1, 9},     {0, 17, 31, 1},     {0, 63, 65, 33},
    {0, 64, 64, 64}, {0, 130, 67, 5},   {0, 257, 129, 7}, {0, 3, 1030, 2},    {1, 3, 4, 5},
    {3, 5, 7, 11},   {2, 65, 66, 67},   {9, 16, 16, 16},  {0, 300, 2100, 12}, {0, 8, 9, 700},
    {0, 1, 2, 0},    {0, 130, 33, 513}, {0, 2, 3, 8200},
};

Shape matrix(int64_t stack, int64_t rows, int64_t cols) {
  return stack == 0 ? Shape{rows, cols} : Shape{stack, rows, cols};
}

// An inner product of K terms p makes at most 2K roundings, in whatever order they are added: of
// each term (not where multiply-adds are fused), and of each partial sum. Of few terms the bound is
// the worst case, (K + 1)·roundoff·Σ|p|. Of many it is statistical: partial sums of k random terms
// are about sqrt(k·mean p²), and a rounding's standard deviation is roundoff/√3 of what is rounded,
// so that the error's is roundoff·sqrt((1 + K/2)·Σp² / 3). Four √3 of them are beyond all chance.
// Scaling, and adding the addend, round once more each.
Doubles matmul_bound(const Doubles& a, const Doubles& b, const Product& p, bool ta, bool tb,
                     double alpha, const Doubles& result) {
  Doubles bound(static_cast<size_t>(p.m * p.n));
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0, squares = 0;
      for (int64_t l = 0; l < p.k; ++l) {
        const double term = a[static_cast<size_t>(ta ? l * p.m + i : i * p.k + l)] *
                            b[static_cast<size_t>(tb ? j * p.k + l : l * p.n + j)];
        sum += std::abs(term);
        squares += term * term;
      }
      const auto terms = static_cast<double>(p.k);
      const double error = p.k <= 16 ? (terms + 1) * sum : 4 * std::sqrt((1 + terms / 2) * squares);
      const auto at = static_cast<size_t>(i * p.n + j);
      bound[at] = kRoundoff * (std::abs(alpha) * error + 2 * std::abs(result[at]));
    }
  }
  return bound;
}

enum class Addend { none, other, in_place };

void check(const Product& p, const MatmulOptions& options, Addend addend) {
  const bool ta = options.transpose_a, tb = options.transpose_b;
  SCOPED_TRACE(::testing::Message() << p.stack << " x " << p.m << " x " << p.n << " x " << p.k
                                    << (ta ? " A^T" : "") << (tb ? " B^T" : ""));
  Lab lab;
  const Tensor a = lab.normal("a", matrix(p.stack, ta ? p.k : p.m, ta ? p.m : p.k));
  const Tensor b = lab.normal("b", matrix(p.stack, tb ? p.n : p.k, tb ? p.k : p.n));
  const Tensor other = lab.normal("addend", matrix(p.stack, p.m, p.n), 3);
  const Tensor c = addend == Addend::in_place ? lab.copy("c", other)
                                              : lab.output("c", matrix(p.stack, p.m, p.n));
  run_everywhere(lab, [&](Context& context) {
    if (addend == Addend::none) return matmul(context, c, a, b, options);
    matmul_add(context, c, addend == Addend::other ? other : c, a, b, options);
  });

  const int64_t stack = std::max<int64_t>(1, p.stack);
  for (int64_t s = 0; s < stack; ++s) {
    const auto part = [&](const Tensor& x) {
      const int64_t size = x.elements() / stack;
      return Tensor{x.f32() + s * size, DType::f32, {size}, x.name};
    };
    const Doubles a_s = values(part(a)), b_s = values(part(b));
    Doubles expected = reference::matmul(a_s, b_s, p.m, p.n, p.k, ta, tb);
    const Doubles added = values(part(other));
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = (addend == Addend::none ? 0 : added[i]) +
                    static_cast<double>(options.alpha) * expected[i];
    }
    expect_within(part(c), expected,
                  matmul_bound(a_s, b_s, p, ta, tb, static_cast<double>(options.alpha), expected));
  }
}

TEST(Matmul, AllTranspositions) {
  for (const Product& p : kProducts) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check(p, {.transpose_a = ta, .transpose_b = tb}, Addend::none);
      }
    }
  }
}

TEST(Matmul, AddsToAnotherTensorOrInPlace) {
  for (const Product& p : kProducts) {
    check(p, {.alpha = -0.75f}, Addend::other);
    check(p, {.transpose_a = true, .alpha = 1.5f}, Addend::in_place);
  }
}

TEST(Matmul, CountsFlops) {
  Lab lab;
  const Tensor a = lab.normal("a", {2, 3, 5}), b = lab.normal("b", {2, 5, 7});
  const Tensor c = lab.output("c", {2, 3, 7});
  Arena scratch(lab.device(), "scratch");
  Context context{lab.device(), scratch};
  matmul(context, c, a, b);
  EXPECT_EQ(context.flops, 2 * 2 * 3 * 5 * 7);
  matmul_add(context, c, c, a, b);
  EXPECT_EQ(context.flops, 2 * 2 * 2 * 3 * 5 * 7);
}

TEST(Matmul, ChecksShapes) {
  Lab lab;
  const Tensor a = lab.normal("left", {2, 3, 5}), b = lab.normal("right", {2, 5, 7});
  const Tensor c = lab.output("product", {2, 3, 7}), d = lab.output("addend", {2, 3, 7});
  expect_shapes_checked(lab, {c, a, b}, {}, [](Context& context, const std::vector<Tensor>& t) {
    matmul(context, t[0], t[1], t[2]);
  });
  expect_shapes_checked(lab, {c, d, a, b}, {}, [](Context& context, const std::vector<Tensor>& t) {
    matmul_add(context, t[0], t[1], t[2], t[3]);
  });
}

TEST(Matmul, NanSpreadsOverItsRowOrColumnOnly) {
  Lab lab;
  const Tensor a = lab.normal("a", {6, 4}), b = lab.normal("b", {4, 9});
  const Tensor c = lab.output("c", {6, 9});
  a.f32()[2 * 4 + 1] = kNaN;
  b.f32()[3 * 9 + 5] = kNaN;
  run(lab, [&](Context& context) { matmul(context, c, a, b); });
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      EXPECT_EQ(std::isnan(c.f32()[i * 9 + j]), i == 2 || j == 5) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace dashlm::testing
