#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/expect_error.h"

namespace dashlm {
namespace {

using testing::expect_runtime_failure;

class ArenaTest : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = open_device("cpu", 1);
  Arena arena_{*device_, "scratch"};
};

TEST_F(ArenaTest, MeasuresWithoutMemory) {
  EXPECT_TRUE(arena_.measuring());
  const Tensor a = arena_.take("a", {3, 5});
  EXPECT_EQ(a.data, nullptr);
  EXPECT_EQ(a.text(), "a f32 (3, 5)");
  EXPECT_EQ(arena_.peak_bytes(), 64);  // 60 bytes, rounded up
  arena_.take("b", {1}, DType::u8);
  EXPECT_EQ(arena_.peak_bytes(), 128);
  arena_.take("huge", {int64_t{1} << 40, 4});
  EXPECT_EQ(arena_.peak_bytes(), 128 + (int64_t{1} << 44));
}

TEST_F(ArenaTest, PeakIsTheHighestStack) {
  arena_.take("kept", {16});
  {
    const ArenaScope scope(arena_);
    arena_.take("large", {160});
    {
      const ArenaScope inner(arena_);
      arena_.take("more", {16});
    }
    arena_.take("less", {1});
  }
  arena_.take("after", {16});
  EXPECT_EQ(arena_.peak_bytes(), 64 + 640 + 64);
  EXPECT_EQ(arena_.mark(), 128);
}

TEST_F(ArenaTest, AfterCommitTensorsHaveAlignedDisjointZeroedMemory) {
  const auto plan = [&] {
    const Tensor a = arena_.take("a", {17});
    const Tensor b = arena_.take("b", {3, 3}, DType::f64);
    const Tensor c = arena_.take("c", {5}, DType::u8);
    return std::array<Tensor, 3>{a, b, c};
  };
  plan();
  arena_.commit();
  EXPECT_FALSE(arena_.measuring());
  EXPECT_EQ(arena_.mark(), 0);
  const auto tensors = plan();
  for (const Tensor& tensor : tensors) {
    ASSERT_NE(tensor.data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 64, 0u);
    const auto* bytes = static_cast<const unsigned char*>(tensor.data);
    for (int64_t i = 0; i < tensor.bytes(); ++i) ASSERT_EQ(bytes[i], 0) << tensor.name.text();
    // Would show in those that follow, were they to overlap.
    std::memset(tensor.data, 0xFF, static_cast<size_t>(tensor.bytes()));
  }
}

TEST_F(ArenaTest, MoreThanMeasuredIsAnError) {
  arena_.take("a", {16});
  arena_.take("b", {16});
  arena_.commit();
  arena_.take("a", {16});
  expect_runtime_failure({"scratch", "c (17)", "68 bytes", "64 of the 128"},
                         [&] { arena_.take("c", {17}); });
  EXPECT_EQ(arena_.mark(), 64);  // the failed one took nothing
  EXPECT_NE(arena_.take("b", {16}).data, nullptr);
  expect_runtime_failure({"d (1)"}, [&] { arena_.take("d", {1}); });
}

TEST_F(ArenaTest, ReleasedMemoryIsTakenAgain) {
  arena_.take("a", {16});
  arena_.commit();
  const int64_t mark = arena_.mark();
  void* first = arena_.take("a", {16}).data;
  arena_.release(mark);
  EXPECT_EQ(arena_.take("b", {4, 4}).data, first);
}

TEST_F(ArenaTest, CommitsOnce) {
  arena_.commit();
  expect_runtime_failure({"scratch", "twice"}, [&] { arena_.commit(); });
}

TEST_F(ArenaTest, NothingMeasuredMeansNothingToTake) {
  arena_.commit();
  EXPECT_EQ(arena_.peak_bytes(), 0);
  arena_.take("empty", {0});
  expect_runtime_failure({"a (1)"}, [&] { arena_.take("a", {1}); });
}

}  // namespace
}  // namespace dashlm
