#include "ops/core/reduce.h"

#include "support/lab.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kGrain = 1 << 14;  // of the CPU kernel

// Sums in float64 of float32 terms: the only error is float64's, n · 2^-53 of the sum of absolute
// values at worst, and the expected value below, in long double, has none.
TEST(Reduce, SumsInDoublePrecision) {
  for (const int64_t size :
       {int64_t{1}, int64_t{7}, kGrain - 1, kGrain, kGrain + 1, 3 * kGrain + 5}) {
    SCOPED_TRACE(size);
    Lab lab;
    const Tensor x = lab.normal("x", {size}, 1, 0.5);
    double total = 0, squares = 0;
    std::vector<double> first;
    for (const int threads : {1, 2, 3, 5}) {
      const ThreadScope scope(threads);
      run_everywhere(lab, [&](Context& context) {
        total = sum(context, x);
        squares = sum_of_squares(context, x);
        EXPECT_TRUE(!context.planning() || (total == 0 && squares == 0));
      });
      if (first.empty()) first = {total, squares};
      EXPECT_EQ(first[0], total);
      EXPECT_EQ(first[1], squares);
    }
    long double exact = 0, exact_squares = 0, magnitude = 0;
    for (const double v : values(x)) {
      exact += v;
      magnitude += std::abs(v);
      exact_squares += static_cast<long double>(v) * v;
    }
    const auto roundings = static_cast<double>(std::min(size, kGrain)) * 0x1.0p-53;
    EXPECT_NEAR(total, static_cast<double>(exact), roundings * static_cast<double>(magnitude));
    EXPECT_NEAR(squares, static_cast<double>(exact_squares),
                roundings * static_cast<double>(exact_squares));
  }
}

// A float32 sum would lose ones beside the squares.
TEST(Reduce, KeepsSmallTermsBesideLargeOnes) {
  Lab lab;
  const Tensor x = lab.normal("x", {100}, 0, 1);
  x.f32()[0] = 1e7f;
  Arena scratch(lab.device(), "scratch");
  scratch.take("something", {1024});
  scratch.commit();
  Context context{lab.device(), scratch};
  EXPECT_EQ(sum(context, x), 1e7 + 99);
  EXPECT_EQ(sum_of_squares(context, x), 1e14 + 99);
  x.f32()[57] = kNaN;
  EXPECT_TRUE(std::isnan(sum(context, x)));
  EXPECT_TRUE(std::isnan(sum_of_squares(context, x)));
}

TEST(Reduce, AddsToWhatIsThere) {
  Lab lab;
  const Tensor x = lab.normal("x", {1000}, 0, 3);
  Tensor total = lab.table("total", {1}, {0});
  total.dtype = DType::f64;  // of the same size; 0 is 0
  run_everywhere(lab, [&](Context& context) {
    if (!context.planning()) *total.as<double>() = 7;
    add_sum(context, total, x);
    add_sum_of_squares(context, total, x);
  });
  EXPECT_EQ(*total.as<double>(), 7 + 3000 + 9000);
}

}  // namespace
}  // namespace dashlm::testing
