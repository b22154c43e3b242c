// Matrix products: plain, over stacks, and the symmetric ones of the inverse roots.
#include <fmt/format.h>

#include "ops/core/matmul.h"
#include "ops/stacks/stack_linalg.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

struct Size {
  int64_t stack, m, n, k;  // stack 0: plain matrices

  Shape shape(int64_t rows, int64_t cols, bool transposed = false) const {
    if (transposed) std::swap(rows, cols);
    return stack > 0 ? Shape{stack, rows, cols} : Shape{rows, cols};
  }
  std::string text() const { return fmt::format("{}x{}x{}x{}", stack, m, n, k); }
};

struct ProductTypes {
  DType operands, result;
};

void product_case(Run& run, const Size& s, const ProductTypes& t, const MatmulOptions& options,
                  bool add) {
  const Tensor a = run.normal("A", t.operands, s.shape(s.m, s.k, options.transpose_a));
  const Tensor b = run.normal("B", t.operands, s.shape(s.k, s.n, options.transpose_b));
  const Bound bound = sum_bound(t.result, s.k);
  if (!add) {
    const Tensor c = run.output("C", t.result, s.shape(s.m, s.n), bound);
    return run.compute([&](Context& context) { matmul(context, c, a, b, options); });
  }
  const Tensor addend = run.normal("addend", t.result, s.shape(s.m, s.n));
  const Tensor c = run.output("C", t.result, s.shape(s.m, s.n), bound);
  const Tensor in_place = run.updated(run.normal("C in place", t.result, s.shape(s.m, s.n)), bound);
  run.compute([&](Context& context) {
    matmul_add(context, c, addend, a, b, options);
    matmul_add(context, in_place, in_place, a, b, options);
  });
}

void add_matmul(Cases& cases, Sizes sizes) {
  // Large: the products of a layer's feed-forward part for 512 tokens.
  const std::vector<Size> shapes =
      sizes == Sizes::large
          ? std::vector<Size>{{0, 512, 11264, 2048}, {0, 512, 2048, 5632}}
          : std::vector<Size>{{0, 1, 1, 1}, {0, 5, 7, 33}, {0, 16, 64, 32}, {3, 5, 7, 9}};
  for (const Size& s : shapes) {
    for (const ProductTypes t :
         {ProductTypes{DType::f32, DType::f32}, ProductTypes{DType::bf16, DType::bf16},
          ProductTypes{DType::bf16, DType::f32}}) {
      for (const int transposes : {0, 1, 2, 3}) {
        const MatmulOptions options{(transposes & 1) != 0, (transposes & 2) != 0, 0.5f};
        const std::string name =
            fmt::format("{} {} to {}, A{} B{}", s.text(), name_of(t.operands), name_of(t.result),
                        options.transpose_a ? "^T" : "", options.transpose_b ? "^T" : "");
        // Those that there is no use for take long at these sizes.
        if (sizes == Sizes::large && transposes == 3) continue;
        cases.push_back({"matmul", "matmul " + name,
                         [=](Run& run) { product_case(run, s, t, options, false); }});
        if (sizes == Sizes::large && transposes != 1) continue;
        cases.push_back({"matmul_add", "matmul_add " + name,
                         [=](Run& run) { product_case(run, s, t, options, true); }});
      }
    }
  }
}

// Operands are rounded before they are multiplied, alike everywhere, and sums are in fp32: the
// precision of the operands does not show in the difference between devices.
void symmetric_case(Run& run, int64_t blocks, int64_t n, SymmetricMatmul options) {
  const Tensor a = run.definite("A", blocks, n);
  const Tensor b = run.output("B", DType::f32, a.shape, {4 * kRoundoff, 0});
  const Tensor c = run.updated(run.definite("C", blocks, n), sum_bound(DType::f32, n));
  Doubles states(static_cast<size_t>(blocks), kActive);
  if (blocks > 1) states[1] = kLate;  // not active
  const Tensor state = run.given("state", DType::i32, {blocks}, states);
  options.state = state;
  run.compute([&](Context& context) {
    identity_plus(context, b, {1.5f}, {-0.5f}, a);  // commutes with A
    symmetric_matmul(context, c, a, b, options);
  });
}

void add_symmetric(Cases& cases, Sizes sizes) {
  using Inactive = SymmetricMatmul::Inactive;
  const std::vector<std::pair<int64_t, int64_t>> shapes =
      sizes == Sizes::large ? std::vector<std::pair<int64_t, int64_t>>{{3, 1024}, {2, 2048}}
                            : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 7}, {2, 33}};
  for (const auto& [blocks, n] : shapes) {
    for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
      for (const auto inactive : {Inactive::keep, Inactive::copy_a, Inactive::copy_b}) {
        SymmetricMatmul options{.alpha = 0.5f, .precision = precision, .inactive = inactive};
        if (inactive == Inactive::keep) options.beta = 0.25f, options.diagonal = 1.0f;
        const char* rest = inactive == Inactive::keep     ? "keep"
                           : inactive == Inactive::copy_a ? "copy A"
                                                          : "copy B";
        cases.push_back(
            {"symmetric_matmul",
             fmt::format("symmetric_matmul {}x{} {}, {}", blocks, n, name, rest),
             [=, b = blocks, order = n](Run& run) { symmetric_case(run, b, order, options); }});
      }
    }
  }
}

}  // namespace

void add_product_cases(Cases& cases, Sizes sizes) {
  add_matmul(cases, sizes);
  add_symmetric(cases, sizes);
}

}  // namespace dashlm::parity
