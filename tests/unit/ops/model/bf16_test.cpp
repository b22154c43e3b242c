// Operations on bf16 tensors against the same operations on f32 tensors that hold the same values:
// the arithmetic is f32 in both, so that results differ by one rounding, and by what the order of
// sums leaves in f32.
#include <bit>
#include <numeric>

#include "ops/blocks/block_copies.h"
#include "ops/core/convert.h"
#include "ops/core/matmul.h"
#include "ops/model/cross_entropy.h"
#include "ops/model/embedding.h"
#include "ops/model/rms_norm.h"
#include "ops/model/rope.h"
#include "ops/model/swiglu.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

constexpr DType kF32 = DType::f32, kBf16 = DType::bf16;

// Widths around the 8 elements that a GPU's thread moves at once, and around a block's 256 threads
// of 8; and tensors that begin where 16 bytes cannot be moved at once.
struct Place {
  int64_t rows, width;
  size_t misaligned = 0;
};
const Place kPlaces[] = {{1, 1},  {3, 7},     {5, 8},    {2, 24},
                         {4, 33}, {2, 40, 1}, {1, 2056}, {2, 2061}};

// Half a unit in the last place of what `actual` holds, and a little for the order of f32 sums
// whose terms are as large as the largest result.
void expect_rounded(const Tensor& actual, const Tensor& wide) {
  const Doubles expected = values(wide);
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  Doubles bound;
  for (const double x : expected) {
    bound.push_back((actual.dtype == kBf16 ? kBf16Roundoff * std::abs(x) : 0) +
                    0x1.0p-19 * largest);
  }
  expect_within(actual, expected, bound);
}

// Bits of f32 tensors, or of f64 and so on, all of which must be equal.
void expect_bits(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.bytes(), expected.bytes());
  EXPECT_EQ(std::memcmp(actual.data, expected.data, static_cast<size_t>(actual.bytes())), 0)
      << actual.text();
}

// A test on every place, with a lab for it.
template <class Check>
void in_all_places(const Check& check) {
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(::testing::Message()
                 << place.rows << " x " << place.width << ", misaligned by " << place.misaligned);
    Lab lab(1, place.misaligned);
    check(lab, place);
  }
}

TEST(Bf16, ConvertRoundsToNearestEven) {
  struct Case {
    uint32_t f32;
    uint16_t bf16;
  };
  const Case cases[] = {
      {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3F800000, 0x3F80},
      {0x3F807FFF, 0x3F80},  // below the middle
      {0x3F808000, 0x3F80},  // the middle: to even, down and up
      {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81}, {0xBF818000, 0xBF82},
      {0x3FFFFFFF, 0x4000},                        // into the next power of two
      {0x7F7F7FFF, 0x7F7F}, {0x7F7F8000, 0x7F80},  // the largest, and infinity from here on
      {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80}, {0x00010000, 0x0001},
      {0x00008000, 0x0000}, {0x00018000, 0x0002},  // subnormal numbers
  };
  const auto count = static_cast<int64_t>(std::size(cases));
  Lab lab;
  const Tensor wide = lab.output("f32", {count + 1}),
               narrow = lab.output("bf16", {count + 1}, kBf16);
  const Tensor back = lab.output("back", {count + 1});
  for (int64_t i = 0; i < count; ++i) wide.f32()[i] = std::bit_cast<float>(cases[i].f32);
  run_everywhere(lab, [&](Context& context) {
    convert(context, narrow, wide);
    convert(context, back, narrow);
  });
  for (int64_t i = 0; i < count; ++i) {
    SCOPED_TRACE(::testing::Message() << std::hex << cases[i].f32);
    EXPECT_EQ(std::bit_cast<uint16_t>(narrow.as<Bf16>()[i]), cases[i].bf16);
    EXPECT_EQ(std::bit_cast<uint32_t>(back.f32()[i]), uint32_t{cases[i].bf16} << 16);
  }
  EXPECT_TRUE(std::isnan(element(narrow, count)) && std::isnan(back.f32()[count]));  // NaN stays
}

TEST(Bf16, ConvertsEverySizeBetweenAllTypes) {
  in_all_places([](Lab& lab, const Place& place) {
    const Tensor x = lab.normal("x", {place.rows, place.width});
    const Tensor rounded = lab.copy("rounded", x, kBf16), widened = lab.copy("widened", rounded);
    for (const Tensor& from : {x, rounded}) {
      for (const DType to : {kF32, kBf16}) {
        const Tensor out = lab.output("out", x.shape, to);
        run_everywhere(lab, [&](Context& context) { convert(context, out, from); });
        expect_bits(out, to == kBf16 ? rounded : from.dtype == kBf16 ? widened : x);
      }
    }
  });
}

TEST(Bf16, Embedding) {
  in_all_places([](Lab& lab, const Place& place) {
    constexpr int64_t kVocabulary = 5, kTokens = 13;
    const Tensor table = lab.normal("table", {kVocabulary, place.width}, 1, 0, kBf16);
    const Tensor tokens = lab.integers("tokens", kTokens, 0, kVocabulary);
    const Tensor wide_table = lab.copy("wide table", table);
    const Tensor wide = lab.output("wide", {kTokens, place.width});
    run(lab, [&](Context& context) { embedding(context, wide, wide_table, tokens); });
    for (const DType type : {kF32, kBf16}) {
      const Tensor out = lab.output("out", wide.shape, type);
      run_everywhere(lab, [&](Context& context) { embedding(context, out, table, tokens); });
      expect_bits(out, lab.copy("expected", wide, type));
    }
    const Tensor d_out = lab.normal("d_out", wide.shape, 1, 0, kBf16);
    const Tensor wide_d_out = lab.copy("wide d_out", d_out);
    const Tensor d_table = lab.normal("d_table", table.shape);
    const Tensor expected = lab.copy("expected", d_table);
    run_everywhere(lab, [&](Context& c) { embedding_backward(c, d_table, d_out, tokens); });
    run(lab, [&](Context& c) { embedding_backward(c, expected, wide_d_out, tokens); });
    expect_rounded(d_table, expected);
  });
}

// The residual stream, x and d_x, in f32 and in bf16.
TEST(Bf16, RmsNorm) {
  constexpr float kEps = 1e-5f;
  in_all_places([&](Lab& lab, const Place& place) {
    const Shape full{place.rows, place.width};
    for (const DType residual : {kF32, kBf16}) {
      const Tensor x = lab.normal("x", full, 2, 0.3, residual);
      const Tensor weight = lab.normal("weight", {place.width}, 0.3, 1, kBf16);
      const Tensor out = lab.output("out", full, kBf16), rstd = lab.output("rstd", {place.rows});
      const Tensor wide_x = lab.copy("wide x", x), wide_weight = lab.copy("wide weight", weight);
      const Tensor wide_out = lab.output("wide out", full);
      const Tensor wide_rstd = lab.output("wide rstd", {place.rows});
      run_everywhere(lab, [&](Context& c) { rms_norm(c, out, rstd, x, weight, kEps); });
      run(lab, [&](Context& c) { rms_norm(c, wide_out, wide_rstd, wide_x, wide_weight, kEps); });
      expect_rounded(out, wide_out);
      expect_rounded(rstd, wide_rstd);

      const Tensor d_out = lab.normal("d_out", full, 1, 0, kBf16);
      const Tensor d_x = lab.normal("d_x", full, 1, 0, residual);
      const Tensor d_weight = lab.normal("d_weight", {place.width});
      const Tensor rounded = lab.output("rounded", full, kBf16);
      const Tensor wide_d_out = lab.copy("wide d_out", d_out), wide_d_x = lab.copy("wide d_x", d_x);
      const Tensor wide_d_weight = lab.copy("wide d_weight", d_weight);
      run_everywhere(lab, [&](Context& c) {
        rms_norm_backward(c, {d_x, d_weight, d_out, x, rstd, weight, rounded});
      });
      run(lab, [&](Context& c) {
        rms_norm_backward(c, {wide_d_x, wide_d_weight, wide_d_out, wide_x, rstd, wide_weight});
      });
      expect_rounded(d_x, wide_d_x);
      expect_rounded(d_weight, wide_d_weight);
      expect_bits(rounded, lab.copy("rounded d_x", d_x, kBf16));
    }
  });
}

TEST(Bf16, Rope) {
  struct Heads {
    int64_t width;
    size_t misaligned;
  };
  for (const auto& [width, misaligned] :
       {Heads{2, 0}, Heads{6, 0}, Heads{8, 0}, Heads{64, 0}, Heads{16, 1}, Heads{70, 0}}) {
    for (const RopeDirection direction : {RopeDirection::forward, RopeDirection::backward}) {
      SCOPED_TRACE(width);
      Lab lab(1, misaligned);
      const Tensor x = lab.normal("x", {2, 3, 5, width}, 1, 0, kBf16);
      const Tensor wide = lab.copy("wide", x), table = lab.normal("table", {9, width / 2, 2});
      run_everywhere(lab, [&](Context& c) { rope(c, x, table, 4, direction, 6); });
      run(lab, [&](Context& c) { rope(c, wide, table, 4, direction, 6); });
      expect_rounded(x, wide);
    }
  }
}

TEST(Bf16, Swiglu) {
  in_all_places([](Lab& lab, const Place& place) {
    const Shape full{place.rows, place.width};
    const Tensor gate_up = lab.normal("gate_up", {place.rows, 2 * place.width}, 2, 0, kBf16);
    const Tensor out = lab.output("out", full, kBf16),
                 d_out = lab.normal("d_out", full, 1, 0, kBf16);
    const Tensor wide_gate_up = lab.copy("wide gate_up", gate_up);
    const Tensor wide_d_out = lab.copy("wide d_out", d_out);
    const Tensor wide_out = lab.output("wide out", full);
    run_everywhere(lab, [&](Context& context) { swiglu(context, out, gate_up); });
    run(lab, [&](Context& context) { swiglu(context, wide_out, wide_gate_up); });
    expect_rounded(out, wide_out);

    const Tensor d_gate_up = lab.output("d_gate_up", gate_up.shape, kBf16);
    const Tensor in_place = lab.copy("in place", gate_up, kBf16);
    const Tensor wide_d_gate_up = lab.output("wide d_gate_up", gate_up.shape);
    run_everywhere(lab, [&](Context& context) {
      swiglu_backward(context, d_gate_up, d_out, gate_up);
      swiglu_backward(context, in_place, d_out, in_place);
    });
    run(lab, [&](Context& c) { swiglu_backward(c, wide_d_gate_up, wide_d_out, wide_gate_up); });
    expect_rounded(d_gate_up, wide_d_gate_up);
    expect_bits(in_place, d_gate_up);
  });
}

TEST(Bf16, CrossEntropyGradient) {
  in_all_places([](Lab& lab, const Place& place) {
    const Tensor logits = lab.normal("logits", {place.rows + 1, place.width}, 3);
    const Tensor targets = lab.integers("targets", place.rows + 1, 0, place.width);
    targets.i32()[place.rows] = kIgnoredTarget;
    const auto losses = [&](const char* name) { return lab.output(name, targets.shape); };
    const Tensor of_bf16 = losses("losses"), of_f32 = losses("f32"), of_copy = losses("in place");
    const Tensor alone = losses("without gradient");
    const Tensor gradient = lab.output("gradient", logits.shape, kBf16);
    const Tensor wide = lab.output("wide", logits.shape), in_place = lab.copy("in place", logits);
    run_everywhere(lab, [&](Context& context) {
      cross_entropy(context, of_bf16, gradient, logits, targets, 0.25f);
      cross_entropy(context, of_f32, wide, logits, targets, 0.25f);
      cross_entropy(context, of_copy, in_place, in_place, targets, 0.25f);
      cross_entropy_loss(context, alone, logits, targets);
    });
    expect_rounded(gradient, wide);
    expect_bits(in_place, wide);
    for (const Tensor& other : {of_f32, of_copy, alone}) expect_bits(other, of_bf16);
  });
}

TEST(Bf16, BlocksAreCopied) {
  in_all_places([](Lab& lab, const Place& place) {
    // The right part of the rows, then the left.
    const int64_t rows = place.rows, width = place.width, left = width / 2;
    const BlockPlace places[] = {{left, width, rows, width - left}, {0, width, rows, left}};
    const Tensor table = lab.table("table", {2, kBlockTableColumns}, block_table(places));
    const Tensor flat = lab.normal("flat", {rows * width}, 1, 0, kBf16);
    const Tensor packed = lab.output("packed", flat.shape, kBf16);
    const Tensor back = lab.output("back", flat.shape, kBf16);
    const Tensor wide = lab.copy("wide", flat), wide_packed = lab.output("wide packed", flat.shape);
    run_everywhere(lab, [&](Context& context) {
      gather_blocks(context, packed, flat, table);
      scatter_blocks(context, back, packed, table);
      gather_blocks(context, wide_packed, wide, table);
    });
    expect_bits(back, flat);
    expect_bits(packed, lab.copy("expected", wide_packed, kBf16));
  });
}

struct Product {
  int64_t stack, m, n, k;  // stack 0: plain matrices
};
const Product kProducts[] = {{0, 1, 1, 1},  {0, 5, 7, 3},  {0, 16, 24, 32}, {0, 63, 65, 33},
                             {3, 5, 7, 11}, {2, 8, 16, 8}, {0, 8, 9, 700},  {0, 4, 6, 0}};
enum class Addend { none, other, in_place };

void check_product(const Product& p, bool ta, bool tb, Addend addend, DType result) {
  SCOPED_TRACE(::testing::Message() << p.stack << " x " << p.m << " x " << p.n << " x " << p.k
                                    << (ta ? " A^T" : "") << (tb ? " B^T" : "") << ", addend "
                                    << static_cast<int>(addend) << ", " << name_of(result));
  const auto matrix = [&](int64_t rows, int64_t cols) {
    return p.stack == 0 ? Shape{rows, cols} : Shape{p.stack, rows, cols};
  };
  Lab lab;
  const Tensor a = lab.normal("a", ta ? matrix(p.k, p.m) : matrix(p.m, p.k), 1, 0, kBf16);
  const Tensor b = lab.normal("b", tb ? matrix(p.n, p.k) : matrix(p.k, p.n), 1, 0, kBf16);
  const Tensor other = lab.normal("addend", matrix(p.m, p.n), 3, 0, result);
  const Tensor c = addend == Addend::in_place ? lab.copy("c", other, result)
                                              : lab.output("c", other.shape, result);
  const Tensor wide_a = lab.copy("wide a", a), wide_b = lab.copy("wide b", b);
  const Tensor wide_c =
      addend == Addend::none ? lab.output("wide c", other.shape) : lab.copy("wide c", other);
  const MatmulOptions options{.transpose_a = ta, .transpose_b = tb, .alpha = 0.75f};
  run_everywhere(lab, [&](Context& context) {
    if (addend == Addend::none) return matmul(context, c, a, b, options);
    matmul_add(context, c, addend == Addend::other ? other : c, a, b, options);
  });
  run(lab, [&](Context& context) {
    if (addend == Addend::none) return matmul(context, wide_c, wide_a, wide_b, options);
    matmul_add(context, wide_c, wide_c, wide_a, wide_b, options);
  });
  expect_rounded(c, wide_c);
}

TEST(Bf16, Matmul) {
  for (const Product& p : kProducts) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const DType result : {kF32, kBf16}) check_product(p, ta, tb, Addend::none, result);
      }
    }
    for (const DType result : {kF32, kBf16}) {
      check_product(p, false, true, Addend::other, result);
      check_product(p, true, false, Addend::in_place, result);
    }
  }
}

TEST(Bf16, RefusesTypesThatDoNotGoTogether) {
  Lab lab;
  const auto f32 = [&](const char* name, Shape shape) { return lab.output(name, shape); };
  const auto bf16 = [&](const char* name, Shape shape) { return lab.output(name, shape, kBf16); };
  const Tensor tokens = lab.integers("tokens", 4, 0, 4), rstd = f32("rstd", {4});
  const auto refused = [&](const std::string& name, const Operation& operation) {
    expect_runtime_failure({name}, [&] { run(lab, operation); });
  };
  refused("b bf16", [&](Context& c) {
    matmul(c, f32("c", {4, 4}), f32("a", {4, 4}), bf16("b", {4, 4}));
  });
  refused("c bf16", [&](Context& c) {
    matmul(c, bf16("c", {4, 4}), f32("a", {4, 4}), f32("b", {4, 4}));
  });
  refused("addend f32", [&](Context& c) {
    matmul_add(c, bf16("c", {4, 4}), f32("addend", {4, 4}), bf16("a", {4, 4}), bf16("b", {4, 4}));
  });
  refused("out bf16", [&](Context& c) {
    embedding(c, bf16("out", {4, 3}), f32("table", {9, 3}), tokens);
  });
  refused("x bf16", [&](Context& c) {
    rms_norm(c, f32("out", {4, 3}), rstd, bf16("x", {4, 3}), f32("weight", {3}), 1e-5f);
  });
  refused("weight f32", [&](Context& c) {
    rms_norm(c, bf16("out", {4, 3}), rstd, bf16("x", {4, 3}), f32("weight", {3}), 1e-5f);
  });
  refused("bf16", [&](Context& c) { swiglu(c, f32("out", {4, 3}), bf16("gate_up", {4, 6})); });
  refused("logits bf16", [&](Context& c) {
    cross_entropy_loss(c, f32("losses", {4}), bf16("logits", {4, 3}), tokens);
  });
  refused("f16", [&](Context& c) {
    Tensor half = bf16("in", {4});
    half.dtype = DType::f16;
    convert(c, f32("out", {4}), half);
  });
}

}  // namespace
}  // namespace dashlm::testing
