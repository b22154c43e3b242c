#include "ops/model/embedding.h"

#include "support/lab.h"
#include "support/reference.h"

namespace dashlm::testing {
namespace {

struct Sizes {
  int64_t tokens, vocab, width;
};
// Around the 256 tokens and 64 columns of one item of the CPU kernels.
const Sizes kSizes[] = {{1, 1, 1}, {1, 5, 3}, {255, 7, 65}, {257, 100, 64}, {600, 3, 130}};

TEST(Embedding, CopiesRows) {
  for (const Sizes& s : kSizes) {
    Lab lab;
    const Tensor table = lab.normal("table", {s.vocab, s.width});
    const Tensor tokens = lab.integers("tokens", s.tokens, 0, s.vocab);
    const Tensor out = lab.output("out", {s.tokens, s.width});
    run_everywhere(lab, [&](Context& context) { embedding(context, out, table, tokens); });
    const reference::Ints ids(tokens.i32(), tokens.i32() + s.tokens);
    EXPECT_EQ(values(out), reference::embedding(values(table), ids, s.width));
  }
}

// The order of the sums is promised, so the result is exactly that of a float32 loop.
TEST(Embedding, BackwardAddsInTheOrderOfTheTokens) {
  for (const Sizes& s : kSizes) {
    Lab lab;
    const Tensor d_table = lab.normal("d_table", {s.vocab, s.width});
    const Tensor tokens = lab.integers("tokens", s.tokens, 0, s.vocab);
    const Tensor d_out = lab.normal("d_out", {s.tokens, s.width});
    std::vector<float> expected(d_table.f32(), d_table.f32() + d_table.elements());
    for (int64_t i = 0; i < s.tokens; ++i) {
      for (int64_t j = 0; j < s.width; ++j) {
        expected[static_cast<size_t>(tokens.i32()[i] * s.width + j)] +=
            d_out.f32()[i * s.width + j];
      }
    }
    run_everywhere(lab,
                   [&](Context& context) { embedding_backward(context, d_table, d_out, tokens); });
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), d_table.f32()));
  }
}

TEST(Embedding, ChecksShapes) {
  Lab lab;
  const Tensor table = lab.normal("table", {5, 3}), tokens = lab.integers("tokens", 7, 0, 5);
  const Tensor out = lab.output("out", {7, 3});
  expect_shapes_checked(
      lab, {out, table, tokens}, {{1, 0}},
      [](Context& context, const std::vector<Tensor>& t) { embedding(context, t[0], t[1], t[2]); });
  expect_shapes_checked(lab, {table, out, tokens}, {{0, 0}},
                        [](Context& context, const std::vector<Tensor>& t) {
                          embedding_backward(context, t[0], t[1], t[2]);
                        });
}

TEST(Embedding, NanOfARowReachesItsTokensOnly) {
  Lab lab;
  const Tensor table = lab.normal("table", {5, 3}), out = lab.output("out", {9, 3});
  const Tensor tokens = lab.integers("tokens", 9, 0, 5);
  table.f32()[2 * 3 + 1] = kNaN;
  run(lab, [&](Context& context) { embedding(context, out, table, tokens); });
  EXPECT_EQ(count_nan(out), std::count(tokens.i32(), tokens.i32() + 9, 2));
}

}  // namespace
}  // namespace dashlm::testing
