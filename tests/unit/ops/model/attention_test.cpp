#include "ops/model/attention.h"

#include <cstdlib>

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

using reference::Heads;

// Groups of every kind, and lengths around the 64 query rows of one block of the CPU kernel.
// {batch, length, query heads, key heads, width}
const Heads kHeads[] = {
    {1, 1, 1, 1, 2},  {3, 1, 6, 2, 8},   {2, 5, 4, 4, 6},    {2, 63, 6, 2, 8}, {1, 64, 3, 1, 16},
    {2, 65, 2, 2, 4}, {1, 130, 6, 2, 8}, {1, 130, 2, 1, 34}, {4, 17, 5, 5, 2},
};
// Of queries, keys and values: from nearly uniform weights to nearly one-hot ones.
const double kDeviations[] = {0.3, 1, 3};

struct Case {
  Heads s;
  Lab lab;
  Tensor qkv, out, lse, d_out, d_qkv;

  Case(const Heads& heads, double deviation, DType dtype = DType::f32, size_t misaligned = 0)
      : s(heads),
        lab(1, misaligned),
        qkv(lab.normal("qkv", {s.batch, s.length, s.all(), s.width}, deviation, 0, dtype)),
        out(lab.output("out", {s.batch, s.length, s.query, s.width}, dtype)),
        lse(lab.output("log_sum_exp", {s.batch, s.query, s.length})),
        d_out(lab.normal("d_out", out.shape, 1, 0, dtype)),
        d_qkv(lab.output("d_qkv", qkv.shape, dtype)) {}
  AttentionHeads heads() const { return {s.query, s.key_value}; }
  std::string text() const {
    return fmt::format("{} x {}, {} heads on {} of {}", s.batch, s.length, s.query, s.key_value,
                       s.width);
  }
};

// Error of one score: that of an inner product (as for matmul), scaled by 1/sqrt(h).
double score_error(const Doubles& qkv, const Heads& s, int64_t b, int64_t t, int64_t head) {
  double largest = 0;
  for (int64_t j = 0; j <= t; ++j) {
    largest = std::max(largest, norm(qkv.data() + s.of_key(b, j, head), s.width));
  }
  return 2 * kRoundoff * largest * norm(qkv.data() + s.of_query(b, t, head), s.width) /
         std::sqrt(static_cast<double>(s.width));
}

// Relative error of a weight: the score's error through the exponential, and 6 roundoffs for exp,
// the sum (in one lane at worst) and the quotient.
double weight_error(const Doubles& qkv, const Heads& s, int64_t b, int64_t t, int64_t head) {
  return score_error(qkv, s, b, t, head) + 6 * kRoundoff;
}

struct Bounds {
  Doubles out, lse, d_qkv;
};

// Errors of single weights are independent, so a sum over positions grows with the root of the sum
// of squares.
Bounds bounds(const Case& c) {
  const Heads& s = c.s;
  const Doubles qkv = values(c.qkv), d_out = values(c.d_out);
  const reference::Attention exact = reference::attention(qkv, s);
  Bounds bound{Doubles(exact.out.size()), Doubles(exact.log_sum_exp.size()), Doubles(qkv.size())};
  const double scale = 1 / std::sqrt(static_cast<double>(s.width));
  const auto width = static_cast<size_t>(s.width);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t head = 0; head < s.query; ++head) {
      for (int64_t t = 0; t < s.length; ++t) {
        double lse = 0;
        const Doubles p = reference::attention_row(qkv, s, b, t, head, lse);
        const double relative = weight_error(qkv, s, b, t, head);
        // max + log(sum): both terms and the result are rounded, and the sum has up to t + 1 terms.
        bound.lse[static_cast<size_t>(s.of_lse(b, t, head))] =
            relative + kRoundoff * (std::abs(lse) + 2 * std::log(static_cast<double>(t + 1)));
        const auto o = static_cast<size_t>(s.of_out(b, t, head));
        const auto q = static_cast<size_t>(s.of_query(b, t, head));
        // The backward pass takes weights as exp(score - lse), from a rounded lse.
        const double again = relative + 2 * kRoundoff * std::abs(lse);
        const double d_norm = norm(d_out.data() + o, s.width);
        const double mean =
            reference::dot(d_out, s.of_out(b, t, head), exact.out, s.of_out(b, t, head), s.width);
        for (int64_t j = 0; j <= t; ++j) {
          const auto k = static_cast<size_t>(s.of_key(b, j, head));
          const auto v = static_cast<size_t>(s.of_value(b, j, head));
          const double weight = p[static_cast<size_t>(j)];
          const double d_p =
              reference::dot(d_out, s.of_out(b, t, head), qkv, s.of_value(b, j, head), s.width);
          // dP and the mean are inner products of d_out with a value and with the output.
          const double d_p_error =
              2 * kRoundoff * d_norm *
                  (norm(qkv.data() + v, s.width) + norm(exact.out.data() + o, s.width)) +
              again * std::abs(mean);
          const double d_score_error =
              scale * weight * (2 * again * std::abs(d_p - mean) + d_p_error);
          for (size_t e = 0; e < width; ++e) {
            bound.out[o + e] += std::pow(2 * relative * weight * qkv[v + e], 2);
            bound.d_qkv[q + e] += std::pow(d_score_error * qkv[k + e], 2);
            bound.d_qkv[k + e] += std::pow(d_score_error * qkv[q + e], 2);
            bound.d_qkv[v + e] += std::pow(2 * again * weight * d_out[o + e], 2);
          }
        }
      }
    }
  }
  constexpr double kDeviationsAllowed = 2;
  for (double& x : bound.out) x = kDeviationsAllowed * std::sqrt(x);
  for (double& x : bound.d_qkv) x = kDeviationsAllowed * std::sqrt(x);
  return bound;
}

TEST(Attention, ForwardAndBackward) {
  for (const Heads& s : kHeads) {
    for (const double deviation : kDeviations) {
      Case c(s, deviation);
      SCOPED_TRACE(::testing::Message() << c.text() << ", deviation " << deviation);
      const Bounds bound = bounds(c);
      run_everywhere(c.lab,
                     [&](Context& context) { attention(context, c.out, c.lse, c.qkv, c.heads()); });
      const auto expected = reference::attention(values(c.qkv), s);
      expect_within(c.out, expected.out, bound.out);
      expect_within(c.lse, expected.log_sum_exp, bound.lse);
      run_everywhere(c.lab, [&](Context& context) {
        attention_backward(context, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, c.heads());
      });
      expect_within(c.d_qkv, reference::attention_backward(values(c.d_out), values(c.qkv), s),
                    bound.d_qkv);
    }
  }
}

// For a result in bf16 beside that in f32: the errors of both computations, and one rounding.
Doubles of_bf16(const Tensor& in_f32, const Doubles& error) {
  Doubles bound = values(in_f32);
  for (size_t i = 0; i < bound.size(); ++i) {
    bound[i] = 2 * error[i] + kBf16Roundoff * (std::abs(bound[i]) + error[i]);
  }
  return bound;
}

// Arithmetic is f32 whatever the tensors hold: on the same values both give the same but for the
// rounding of what is stored.
TEST(Attention, Bf16IsRoundedFp32) {
  for (const Heads& s : kHeads) {
    for (const size_t misaligned : {0, 1}) {
      Case c(s, 1, DType::bf16, misaligned);
      SCOPED_TRACE(::testing::Message() << c.text() << ", misaligned by " << misaligned);
      const Bounds bound = bounds(c);
      const Tensor qkv = c.lab.copy("f32 qkv", c.qkv), out = c.lab.output("f32 out", c.out.shape),
                   lse = c.lab.output("f32 log_sum_exp", c.lse.shape);
      run_everywhere(c.lab,
                     [&](Context& context) { attention(context, c.out, c.lse, c.qkv, c.heads()); });
      run(c.lab, [&](Context& context) { attention(context, out, lse, qkv, c.heads()); });
      expect_within(c.out, values(out), of_bf16(out, bound.out));
      Doubles of_lse = bound.lse;
      for (double& x : of_lse) x *= 2;
      expect_within(c.lse, values(lse), of_lse);

      const Tensor d_out = c.lab.copy("f32 d_out", c.d_out), rounded = c.lab.copy("out", c.out),
                   d_qkv = c.lab.output("f32 d_qkv", c.d_qkv.shape);
      run_everywhere(c.lab, [&](Context& context) {
        attention_backward(context, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, c.heads());
      });
      run(c.lab, [&](Context& context) {
        attention_backward(context, {d_qkv, d_out, rounded, c.lse, qkv}, c.heads());
      });
      expect_within(c.d_qkv, values(d_qkv), of_bf16(d_qkv, bound.d_qkv));
    }
  }
}

class AttentionVariable {
 public:
  explicit AttentionVariable(const char* value) { setenv("DASHLM_ATTENTION", value, 1); }
  ~AttentionVariable() { unsetenv("DASHLM_ATTENTION"); }
  AttentionVariable(const AttentionVariable&) = delete;
  AttentionVariable& operator=(const AttentionVariable&) = delete;
};

TEST(Attention, TheEnvironmentCanInsistOnCudnnOrRefuseIt) {
  Case c({1, 5, 2, 1, 8}, 1, DType::bf16);
  if (c.lab.device().kind() != DeviceKind::cuda) GTEST_SKIP() << "only on GPUs is there a choice";
  Arena scratch(c.lab.device(), "scratch");
  Context context{c.lab.device(), scratch};
  const auto forward = [&] { attention(context, c.out, c.lse, c.qkv, c.heads()); };
  const auto backward = [&] {
    attention_backward(context, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, c.heads());
  };
  {
    const AttentionVariable variable("cudnn");  // which tests are built without
    expect_runtime_failure({"DASHLM_ATTENTION", "without cuDNN"}, forward);
    expect_runtime_failure({"DASHLM_ATTENTION", "without cuDNN"}, backward);
  }
  {
    const AttentionVariable variable("flash");
    expect_bad_input({"DASHLM_ATTENTION", "'flash'", "'own'", "'cudnn'"}, forward);
  }
  const AttentionVariable variable("own");
  forward();
  backward();
}

TEST(Attention, HugeScoresStayFinite) {
  Case c({1, 70, 2, 1, 8}, 100);  // scores of some ten thousands
  run(c.lab, [&](Context& context) {
    attention(context, c.out, c.lse, c.qkv, c.heads());
    attention_backward(context, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, c.heads());
  });
  EXPECT_TRUE(std::all_of(c.out.f32(), c.out.f32() + c.out.elements(),
                          [](float x) { return std::isfinite(x); }));
  EXPECT_TRUE(std::all_of(c.d_qkv.f32(), c.d_qkv.f32() + c.d_qkv.elements(),
                          [](float x) { return std::isfinite(x); }));
}

void expect_cached_equals_full(Case& c) {
  const Heads& s = c.s;
  const Bounds bound = bounds(c);
  const auto expected = reference::attention(values(c.qkv), s);
  Doubles of_out = bound.out;
  if (c.qkv.dtype == DType::bf16) {
    for (size_t i = 0; i < of_out.size(); ++i) {
      of_out[i] += kBf16Roundoff * (std::abs(expected.out[i]) + of_out[i]);
    }
  }
  const Tensor keys = c.lab.output("keys", {s.length + 3, s.key_value, s.width}, c.qkv.dtype);
  const Tensor values_ = c.lab.output("values", keys.shape, c.qkv.dtype);
  const ThreadScope one(1);  // many tiny steps
  for (const int64_t piece : {s.length, int64_t{65}, int64_t{3}, int64_t{1}}) {
    SCOPED_TRACE(::testing::Message() << c.text() << " in pieces of " << piece);
    for (int64_t past = 0; past < s.length; past += piece) {
      const int64_t count = std::min(piece, s.length - past);
      const auto part = [&](const Tensor& x) {
        return x.view({x.dim(1), x.dim(2), x.dim(3)})
            .rows(past, count)
            .view({1, count, x.dim(2), x.dim(3)});
      };
      const auto step = [&](Context& context) {
        cached_attention(context, part(c.out), keys, values_, part(c.qkv), c.heads(), past);
      };
      past == 0 ? run_everywhere(c.lab, step) : run(c.lab, step);
    }
    expect_within(c.out, expected.out, of_out);
  }
}

// The prompt as one piece, in pieces across the block size, and token by token.
TEST(CachedAttention, EqualsFullAttention) {
  for (const Heads& s : {Heads{1, 1, 2, 1, 4}, Heads{1, 130, 6, 2, 8}, Heads{1, 67, 4, 4, 6}}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Case c(s, 1, dtype);
      expect_cached_equals_full(c);
    }
  }
}

TEST(Attention, ChecksShapes) {
  Case c({2, 3, 4, 2, 6}, 1);
  const AttentionHeads heads = c.heads();
  expect_shapes_checked(c.lab, {c.out, c.lse, c.qkv}, {},
                        [&](Context& context, const std::vector<Tensor>& t) {
                          attention(context, t[0], t[1], t[2], heads);
                        });
  expect_shapes_checked(c.lab, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, {},
                        [&](Context& context, const std::vector<Tensor>& t) {
                          attention_backward(context, {t[0], t[1], t[2], t[3], t[4]}, heads);
                        });
  Case one({1, 3, 4, 2, 6}, 1);
  const Tensor keys = one.lab.normal("keys", {10, 2, 6}), kept = one.lab.normal("kept", {10, 2, 6});
  expect_shapes_checked(one.lab, {one.out, keys, kept, one.qkv}, {},
                        [&](Context& context, const std::vector<Tensor>& t) {
                          cached_attention(context, t[0], t[1], t[2], t[3], heads, 7);
                        });
  Arena scratch(c.lab.device(), "scratch");
  Context context{c.lab.device(), scratch};
  Case half({2, 3, 4, 2, 6}, 1, DType::bf16);
  expect_runtime_failure({"attention", "out f32", "bf16"},
                         [&] { attention(context, c.out, c.lse, half.qkv, heads); });
  expect_runtime_failure({"attention_backward", "d_qkv f32", "bf16"}, [&] {
    attention_backward(context, {c.d_qkv, half.d_out, half.out, c.lse, half.qkv}, heads);
  });
  expect_runtime_failure({"attention", "4 query heads", "3 key heads"}, [&] {
    attention(context, c.out, c.lse, c.qkv, {4, 3});
  });
  expect_runtime_failure({"cached_attention", "qkv f32 (1, 3, 8, 6)", "position 8", "keys"}, [&] {
    cached_attention(context, one.out, keys, kept, one.qkv, heads, 8);
  });
}

TEST(Attention, CountsFlopsBelowTheDiagonal) {
  Case c({2, 70, 6, 2, 8}, 1);
  Arena scratch(c.lab.device(), "scratch");
  Context context{c.lab.device(), scratch};
  attention(context, c.out, c.lse, c.qkv, c.heads());
  // Two products, each a multiply-add for every pair of positions and element of a head.
  EXPECT_EQ(context.flops, 2 * 2.0 * (70 * 71 / 2) * 8 * 6 * 2);
}

// A NaN reaches every row that may see it, and neither another sequence nor another group of heads.
TEST(Attention, NanReachesLaterPositionsOfItsGroup) {
  for (const int64_t bad : {0, 3}) {  // a query of the first group; a key of the second
    Case c({2, 70, 2, 2, 4}, 1);
    constexpr int64_t kPosition = 66;
    c.qkv.f32()[c.s.of_query(0, kPosition, bad)] = kNaN;
    run(c.lab, [&](Context& context) {
      attention(context, c.out, c.lse, c.qkv, c.heads());
      attention_backward(context, {c.d_qkv, c.d_out, c.out, c.lse, c.qkv}, c.heads());
    });
    const int64_t head = bad == 0 ? 0 : 1, last = bad == 0 ? kPosition : 69;
    for (int64_t t = 0; t < 70; ++t) {
      const bool expected = t >= kPosition && t <= last;
      EXPECT_EQ(std::isnan(c.out.f32()[c.s.of_out(0, t, head)]), expected) << t;
      EXPECT_EQ(std::isnan(c.lse.f32()[c.s.of_lse(0, t, head)]), expected) << t;
    }
    EXPECT_EQ(count_nan(c.out), (last - kPosition + 1) * 4);
    EXPECT_EQ(count_nan(c.d_qkv.rows(1, 1)), 0);
    EXPECT_TRUE(std::isnan(c.d_qkv.f32()[c.s.of_query(0, kPosition, head)]));
    EXPECT_TRUE(std::isnan(c.d_qkv.f32()[c.s.of_key(0, 0, head)]));
    EXPECT_TRUE(std::isnan(c.d_qkv.f32()[c.s.of_value(0, 0, head)]));
    EXPECT_FALSE(std::isnan(c.d_qkv.f32()[c.s.of_key(0, 0, 1 - head)]));
  }
}

}  // namespace
}  // namespace dashlm::testing
