#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <type_traits>

#include "support/expect_error.h"

namespace dashlm {
namespace {

using testing::expect_runtime_failure;

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::f16), 2);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::u8), 1);
  EXPECT_STREQ(name_of(DType::bf16), "bf16");
  EXPECT_STREQ(name_of(DType::u8), "u8");
}

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ(Shape().rank(), 0);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().text(), "()");
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.text(), "(2, 3, 4)");
  EXPECT_EQ(Shape({5, 0, 2}).elements(), 0);
  EXPECT_EQ(Shape({1 << 20, 1 << 20}).elements(), int64_t{1} << 40);
}

TEST(Shape, Compares) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 1}));
  EXPECT_NE(Shape({2}), Shape({2, 0}));
}

TEST(Shape, HasAtMostFourDimensions) {
  Shape shape = {1, 2, 3, 4};
  expect_runtime_failure({"4 dimensions"}, [&] { shape.append(5); });
  EXPECT_EQ(shape, Shape({1, 2, 3, 4}));
}

class TensorTest : public ::testing::Test {
 protected:
  void SetUp() override { std::iota(values_.begin(), values_.end(), 0.0f); }

  std::array<float, 24> values_ = {};
  Tensor tensor_ = {values_.data(), DType::f32, {4, 3, 2}, "qkv"};
};

TEST_F(TensorTest, KnowsItsSize) {
  EXPECT_EQ(tensor_.elements(), 24);
  EXPECT_EQ(tensor_.bytes(), 96);
  EXPECT_EQ(tensor_.dim(2), 2);
  EXPECT_EQ(tensor_.rank(), 3);
  EXPECT_EQ(tensor_.text(), "qkv f32 (4, 3, 2)");
}

TEST_F(TensorTest, ElementTypeIsChecked) {
  EXPECT_EQ(tensor_.f32(), values_.data());
  EXPECT_EQ(tensor_.as<float>(), values_.data());
  expect_runtime_failure({"qkv", "f32", "i32"}, [&] { tensor_.i32(); });
  expect_runtime_failure({"qkv", "f32", "f64"}, [&] { tensor_.as<double>(); });
}

TEST_F(TensorTest, ViewKeepsTheElements) {
  const Tensor flat = tensor_.view({24});
  EXPECT_EQ(flat.data, tensor_.data);
  EXPECT_EQ(flat.shape, Shape({24}));
  EXPECT_EQ(flat.name.text(), "qkv");
  EXPECT_EQ(tensor_.view({2, 2, 3, 2}).dim(0), 2);
  expect_runtime_failure({"qkv f32 (4, 3, 2)", "(5, 5)"}, [&] { tensor_.view({5, 5}); });
}

TEST_F(TensorTest, RowsAreConsecutiveEntriesOfTheFirstDimension) {
  const Tensor rows = tensor_.rows(1, 2);
  EXPECT_EQ(rows.shape, Shape({2, 3, 2}));
  EXPECT_EQ(rows.f32(), values_.data() + 6);
  EXPECT_EQ(rows.rows(1, 1).f32()[0], 12.0f);
  EXPECT_EQ(tensor_.rows(4, 0).elements(), 0);
  EXPECT_EQ(tensor_.rows(0, 4).shape, tensor_.shape);
}

TEST_F(TensorTest, WhatMayBeWrittenMayBeRead) {
  const ConstTensor read_only = tensor_.rows(1, 2);
  EXPECT_EQ(read_only.f32(), values_.data() + 6);
  EXPECT_EQ(read_only.text(), "qkv f32 (2, 3, 2)");
  static_assert(std::is_same_v<decltype(read_only.f32()), const float*>);
  static_assert(std::is_same_v<decltype(read_only.rows(0, 1)), ConstTensor>);
  static_assert(!std::is_convertible_v<ConstTensor, Tensor>);
  // Within an aggregate, the address of a tensor must not become that of its elements.
  static_assert(!std::is_aggregate_v<ConstTensor>);
}

TEST_F(TensorTest, AnAbsentOneHasNoDimensions) {
  EXPECT_TRUE(tensor_);
  EXPECT_TRUE((Tensor{nullptr, DType::f32, {3}, "measured"}));
  EXPECT_FALSE(Tensor{});
  EXPECT_FALSE(ConstTensor(Tensor{}));
  EXPECT_EQ(ConstTensor{}.i32(), nullptr);
}

TEST_F(TensorTest, PartsShareTheName) {
  const Tensor named{values_.data(), DType::f32, {24}, std::string("layer11.gate_up")};
  EXPECT_EQ(named.rows(3, 4).name.text().data(), named.name.text().data());
  EXPECT_EQ(named.name, TensorName("layer11.gate_up"));
  EXPECT_LT(tensor_.rows(0, 1).name, TensorName("r"));
}

TEST_F(TensorTest, RowsOutsideAreErrors) {
  expect_runtime_failure({"qkv f32 (4, 3, 2)", "3 to 5"}, [&] { tensor_.rows(3, 2); });
  expect_runtime_failure({"qkv"}, [&] { tensor_.rows(-1, 2); });
  expect_runtime_failure({"qkv"}, [&] { tensor_.rows(2, -1); });
  expect_runtime_failure({"rows"}, [&] { tensor_.view({2, 12}).rows(0, 3); });
  const Tensor scalar = {values_.data(), DType::f32, {}, "scalar"};
  expect_runtime_failure({"scalar"}, [&] { scalar.rows(0, 1); });
}

TEST_F(TensorTest, RowsOfOtherTypesMoveByTheirSize) {
  const Tensor halves = {values_.data(), DType::bf16, {4, 5}, "h"};
  EXPECT_EQ(static_cast<char*>(halves.rows(3, 1).data) - static_cast<char*>(halves.data), 30);
}

TEST_F(TensorTest, TensorsWithoutMemoryHaveRowsWithoutMemory) {
  const Tensor measured = {nullptr, DType::f32, {4, 3}, "m"};
  EXPECT_EQ(measured.rows(2, 1).data, nullptr);
  EXPECT_EQ(measured.rows(2, 1).shape, Shape({1, 3}));
  EXPECT_EQ(Tensor({nullptr, DType::f32, {0, 3}, "e"}).rows(0, 0).shape, Shape({0, 3}));
}

}  // namespace
}  // namespace dashlm
