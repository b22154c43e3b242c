#include <bit>

#include "ops/core/cpu/vector_math.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

// The polynomial's remainder is 6e-9 = 0.1 ulp of 1; reduction, Horner steps near r = ±ln(2)/2 and
// the last rounding add up to about one more.
TEST(Exp, WithinOneAndAQuarterUlpOverTheWholeRange) {
  double worst = 0;
  float worst_at = 0;
  const auto check = [&](float x) {
    const double expected = std::exp(static_cast<double>(x));
    const auto rounded = static_cast<float>(expected);
    const double ulp =
        static_cast<double>(std::nextafter(rounded, INFINITY)) - static_cast<double>(rounded);
    const double error = std::abs(static_cast<double>(cpu::exp_f32(x)) - expected) / ulp;
    if (!(error <= worst)) worst = error, worst_at = x;
  };
  // Every 1009th float from -86.98 to 88.7: more than a million of each sign.
  for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(88.7f); bits += 1009) {
    check(std::bit_cast<float>(bits));
    if (std::bit_cast<float>(bits) <= 86.98f) check(-std::bit_cast<float>(bits));
  }
  check(-86.98f);
  check(88.7f);
  EXPECT_LE(worst, 1.25) << "at " << worst_at;
}

TEST(Exp, Ends) {
  EXPECT_EQ(cpu::exp_f32(0.0f), 1.0f);
  EXPECT_EQ(cpu::exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(cpu::exp_f32(-INFINITY), 0.0f);
  EXPECT_EQ(cpu::exp_f32(std::nextafter(-86.98f, -INFINITY)), 0.0f);
  EXPECT_EQ(cpu::exp_f32(-1e30f), 0.0f);
  EXPECT_EQ(cpu::exp_f32(std::nextafter(88.7f, INFINITY)), INFINITY);
  EXPECT_EQ(cpu::exp_f32(1e30f), INFINITY);
  EXPECT_EQ(cpu::exp_f32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(cpu::exp_f32(kNaN)));
  EXPECT_TRUE(std::isnan(cpu::exp_f32(-kNaN)));
}

}  // namespace
}  // namespace dashlm::testing
