// The parity table, an operation at a time. In a build for the CPU: operations in bf16 against the
// same in fp32, on the CPU. In the build that runs CUDA sources on the CPU: those against the CPU
// backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "parity/table.h"
#include "tensor/bf16.h"

namespace dashlm::parity {
namespace {

const bool kReportsMargins = std::getenv("DASHLM_TEST_MARGINS") != nullptr;

void expect_ok(const Case& one, const Comparison& comparison) {
  EXPECT_TRUE(comparison.ok()) << one.name << ": " << comparison.output << "[" << comparison.at
                               << "] is " << comparison.got << " instead of " << comparison.want
                               << ", " << comparison.worst << " times the allowed error";
  if (kReportsMargins) {
    fmt::print("margin {:<60} {:<16} {:.3f}\n", one.name, comparison.output, comparison.worst);
  }
}

// Every operation once, in the order of the table.
std::vector<std::string> operations() {
  std::vector<std::string> names;
  for (const Case& one : all_cases(Sizes::small)) {
    if (names.empty() || std::find(names.begin(), names.end(), one.operation) == names.end()) {
      names.push_back(one.operation);
    }
  }
  return names;
}

class Parity : public testing::TestWithParam<std::string> {
 protected:
  template <class Body>
  void for_cases(const Body& body) {
    for (const Case& one : all_cases(Sizes::small)) {
      if (one.operation == GetParam()) body(one);
    }
  }
};

TEST_P(Parity, Holds) {
  const auto cpu = open_device("cpu");
  if (const auto device = open_device(DASHLM_TEST_DEVICE); device->kind() != DeviceKind::cpu) {
    for_cases([&](const Case& one) { expect_ok(one, compare_devices(one, *device, *cpu)); });
  } else {
    for_cases([&](const Case& one) { expect_ok(one, compare_widened(one, *cpu)); });
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Parity, testing::ValuesIn(operations()),
                         [](const auto& which) { return which.param; });

TEST(ParityComparison, TellsWhatIsBeyondItsBound) {
  const Output want{"x", {0x1p-8, 0}, {1, -4, 0}};
  EXPECT_TRUE(compare({"x", {}, {1, -4, 0}}, want).ok());
  EXPECT_TRUE(compare({"x", {}, {1 + 0x1p-8, -4 - 0x1p-6, 0}}, want).ok());
  const Comparison beyond = compare({"x", {}, {1, -4 - 0x1p-5, 0}}, want);
  EXPECT_EQ(beyond.worst, 2);
  EXPECT_EQ(beyond.at, 1);
  EXPECT_FALSE(compare({"x", {}, {1, -4, 1e-30}}, want).ok()) << "without noise, 0 is 0";
  EXPECT_TRUE(compare({"x", {}, {1, -4, 0.02}}, {"x", {0, 0.01}, {1, -4, 0}}).ok());
  EXPECT_FALSE(compare({"x", {}, {1, -4, 0.03}}, {"x", {0, 0.01}, {1, -4, 0}}).ok());
}

TEST(ParityComparison, NotANumberMustBeOneOnBothSides) {
  const double nan = std::nan(""), inf = HUGE_VAL;
  const Bound wide{1, 1};
  EXPECT_TRUE(compare({"x", {}, {nan, inf}}, {"x", wide, {nan, inf}}).ok());
  EXPECT_FALSE(compare({"x", {}, {nan, 1}}, {"x", wide, {1, 1}}).ok());
  EXPECT_FALSE(compare({"x", {}, {1, 1}}, {"x", wide, {nan, 1}}).ok());
  EXPECT_FALSE(compare({"x", {}, {1, inf}}, {"x", wide, {1, -inf}}).ok());
  EXPECT_FALSE(compare({"x", {}, {inf}}, {"x", wide, {1}}).ok());
}

TEST(ParityComparison, SeesTruncation) {
  Output exact{"x", {2 * kRoundoffBf16, 0}, {}};
  for (int i = 0; i < 1000; ++i) exact.values.push_back(std::sin(i));
  const auto stored = [&](bool truncates) {
    Output output = exact;
    for (double& x : output.values) {
      x = static_cast<float>(
          truncates
              ? std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFF0000u)
              : static_cast<float>(Bf16(static_cast<float>(x))));
    }
    return output;
  };
  EXPECT_TRUE(compare(stored(true), stored(false)).ok()) << "within a unit in the last place";
  EXPECT_FALSE(compare_rounding(stored(true), stored(false)).ok());
  Output few = stored(false);
  for (size_t i = 10; i < 40; ++i) few.values[i] *= 1 + 2 * kRoundoffBf16;
  EXPECT_TRUE(compare_rounding(few, stored(false)).ok());
}

}  // namespace
}  // namespace dashlm::parity
