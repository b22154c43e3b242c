// A bench for trying one operation: named tensors in host memory with guards around them, and
// run_everywhere(), which checks what every operation owes whatever it computes.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "device/device.h"
#include "ops/core/context.h"
#include "support/expect_error.h"
#include "tensor/arena.h"
#include "tensor/bf16.h"

namespace dashlm::testing {

using Doubles = std::vector<double>;
using Operation = std::function<void(Context&)>;

// Unit roundoff of float: the relative error of one correctly rounded operation is at most this.
constexpr double kRoundoff = 0x1.0p-24;
constexpr double kBf16Roundoff = 0x1.0p-8;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// An element of an f32 or bf16 tensor.
inline float element(const Tensor& x, int64_t i) {
  return x.dtype == DType::bf16 ? static_cast<float>(x.as<Bf16>()[i]) : x.f32()[i];
}
inline void set_element(const Tensor& x, int64_t i, float value) {
  if (x.dtype == DType::bf16) {
    x.as<Bf16>()[i] = Bf16(value);
  } else {
    x.f32()[i] = value;
  }
}

inline Doubles values(const Tensor& x) {
  Doubles result;
  for (int64_t i = 0; i < x.elements(); ++i) result.push_back(static_cast<double>(element(x, i)));
  return result;
}

inline double norm(const double* x, int64_t count, int64_t stride = 1) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += x[i * stride] * x[i * stride];
  return std::sqrt(squares);
}

// Restores the number of threads on scope exit.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

// Memory of the device, which in tests the host can read and write as well.
class DeviceBytes {
 public:
  DeviceBytes(Device& device, size_t size, char value)
      : device_(device),
        size_(size),
        data_(static_cast<char*>(device.allocate(static_cast<int64_t>(size)))) {
    std::memset(data_, value, size);
  }
  ~DeviceBytes() { device_.release(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  char operator[](size_t i) const { return data_[i]; }

 private:
  Device& device_;
  size_t size_;
  char* data_;
};

class Lab {
 public:
  // Tensors begin `misaligned` elements past a multiple of 64 bytes.
  explicit Lab(uint64_t seed = 1, size_t misaligned = 0)
      : device_(open_device(DASHLM_TEST_DEVICE)), seed_(seed), misaligned_(misaligned) {}

  Device& device() { return *device_; }

  // Normally distributed values; each call draws others.
  Tensor normal(const std::string& name, Shape shape, double deviation = 1, double mean = 0,
                DType dtype = DType::f32) {
    const CounterRandom random(seed_, Purpose::test, ++draws_);
    return fill(take(name, shape, dtype), [&](int64_t i) {
      return static_cast<float>(mean + deviation * random.normal(static_cast<uint64_t>(i)));
    });
  }
  // An output that must be overwritten: NaN everywhere.
  Tensor output(const std::string& name, Shape shape, DType dtype = DType::f32) {
    return fill(take(name, shape, dtype), [](int64_t) { return kNaN; });
  }
  // The values of x, rounded where `dtype` is narrower.
  Tensor copy(const std::string& name, const Tensor& x, DType dtype = DType::f32) {
    return fill(take(name, x.shape, dtype), [&](int64_t i) { return element(x, i); });
  }
  // Uniform integers in [low, high).
  Tensor integers(const std::string& name, int64_t count, int64_t low, int64_t high) {
    const CounterRandom random(seed_, Purpose::test, ++draws_);
    Tensor x = take(name, {count}, DType::i32);
    for (int64_t i = 0; i < count; ++i) {
      const auto range = static_cast<uint64_t>(high - low);
      x.i32()[i] = static_cast<int32_t>(
          low + static_cast<int64_t>(random.below(range, static_cast<uint64_t>(i))));
    }
    return x;
  }
  Tensor table(const std::string& name, Shape shape, const std::vector<int64_t>& entries) {
    Tensor x = take(name, shape, DType::i64);
    std::memcpy(x.data, entries.data(), static_cast<size_t>(x.bytes()));
    return x;
  }

  // All memory of all tensors.
  std::vector<std::vector<char>> snapshot() const {
    std::vector<std::vector<char>> copies;
    for (const DeviceBytes& bytes : memory_) {
      copies.emplace_back(bytes.data(), bytes.data() + bytes.size());
    }
    return copies;
  }
  void restore(const std::vector<std::vector<char>>& from) {
    for (size_t i = 0; i < from.size(); ++i) {
      std::memcpy(memory_[i].data(), from[i].data(), from[i].size());
    }
  }
  void expect_guards_intact() const {
    for (const auto& bytes : memory_) {
      for (size_t i = 0; i < kGuard; ++i) {
        ASSERT_EQ(bytes[i], kGuardByte) << "written before the start of a tensor";
        ASSERT_EQ(bytes[bytes.size() - 1 - i], kGuardByte) << "written past the end of a tensor";
      }
    }
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr char kGuardByte = 0x5A;

  Tensor take(const std::string& name, Shape shape, DType dtype) {
    const auto bytes = static_cast<size_t>(shape.elements() * size_of(dtype));
    const size_t before = kGuard + misaligned_ * static_cast<size_t>(size_of(dtype));
    memory_.emplace_back(*device_, before + bytes + kGuard, kGuardByte);
    return {memory_.back().data() + before, dtype, shape, name};
  }
  template <class Value>
  static Tensor fill(Tensor x, const Value& value) {
    for (int64_t i = 0; i < x.elements(); ++i) set_element(x, i, value(i));
    return x;
  }

  std::unique_ptr<Device> device_;
  uint64_t seed_;
  size_t misaligned_;
  uint64_t draws_ = 0;
  std::deque<DeviceBytes> memory_;
};

// Runs `operation` once, planning its scratch first.
inline void run(Lab& lab, const Operation& operation) {
  Arena scratch(lab.device(), "test scratch");
  Context planning{lab.device(), scratch};
  operation(planning);
  scratch.commit();
  Context context{lab.device(), scratch};
  operation(context);
}

// Runs `operation` with 1, 2, 3 and 5 threads from the same inputs and leaves the results. Checks
// that all results are the same bits, that nothing beside the tensors is written, and that a
// planning run computes nothing but takes exactly the scratch of the real one and counts the same
// FLOPs.
inline void run_everywhere(Lab& lab, const Operation& operation) {
  const auto before = lab.snapshot();
  std::vector<std::vector<char>> first;
  for (const int threads : {1, 2, 3, 5}) {
    SCOPED_TRACE(::testing::Message() << threads << " threads");
    const ThreadScope scope(threads);
    lab.restore(before);

    Arena scratch(lab.device(), "test scratch");
    Context planning{lab.device(), scratch};
    operation(planning);
    EXPECT_EQ(scratch.mark(), 0) << "planning left scratch behind";
    EXPECT_TRUE(lab.snapshot() == before) << "planning computed something";

    if (const int64_t peak = scratch.peak_bytes(); peak > 0) {
      Arena shorter(lab.device(), "short scratch");
      shorter.take("all but the last", {peak - 64}, DType::u8);
      shorter.commit();
      Context context{lab.device(), shorter};
      expect_runtime_failure({"short scratch"}, [&] { operation(context); });
      lab.restore(before);
    }

    scratch.commit();
    Context context{lab.device(), scratch};
    operation(context);
    EXPECT_EQ(scratch.mark(), 0) << "scratch was left behind";
    EXPECT_EQ(context.flops, planning.flops);
    lab.expect_guards_intact();
    if (first.empty()) {
      first = lab.snapshot();
    } else {
      EXPECT_TRUE(lab.snapshot() == first) << "the result depends on the number of threads";
    }
  }
}

// A dimension of an argument that an operation leaves free.
struct FreeDimension {
  size_t argument;
  int dimension;
};

// Makes every dimension of every argument too large in turn, and drops one: unless the dimension is
// free, `operation` must throw an Error that names one of the arguments.
inline void expect_shapes_checked(
    Lab& lab, const std::vector<Tensor>& arguments, const std::vector<FreeDimension>& free,
    const std::function<void(Context&, const std::vector<Tensor>&)>& operation) {
  Arena scratch(lab.device(), "test scratch");
  Context planning{lab.device(), scratch};
  operation(planning, arguments);  // as they are, they fit
  const auto expect_refused = [&](const std::vector<Tensor>& wrong, size_t which) {
    SCOPED_TRACE(wrong[which].text());
    try {
      operation(planning, wrong);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::runtime_failure);
      bool named = false;
      for (const Tensor& x : wrong)
        named |= std::string(e.what()).find(x.text()) != std::string::npos;
      EXPECT_TRUE(named) << e.what();
      return;
    }
    ADD_FAILURE() << "was accepted";
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (int dim = 0; dim < arguments[i].rank(); ++dim) {
      bool skip = false;
      for (const FreeDimension& f : free) skip |= f.argument == i && f.dimension == dim;
      if (skip) continue;
      std::vector<Tensor> wrong = arguments;
      wrong[i].shape = {};
      for (int d = 0; d < arguments[i].rank(); ++d) {
        wrong[i].shape.append(arguments[i].dim(d) + (d == dim ? 1 : 0));
      }
      expect_refused(wrong, i);
    }
    std::vector<Tensor> wrong = arguments;
    wrong[i].shape = {arguments[i].elements() + 1};
    if (arguments[i].rank() > 1) expect_refused(wrong, i);
    wrong = arguments;
    wrong[i].dtype = arguments[i].dtype == DType::i32 ? DType::f32 : DType::f16;
    expect_refused(wrong, i);
  }
}

// Every element within its bound; on failure reports the worst. Returns the largest error as a
// multiple of its bound.
inline double expect_within(const Tensor& actual, const Doubles& expected, const Doubles& bound) {
  EXPECT_EQ(actual.elements(), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(bound.size(), expected.size());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error =
        std::abs(static_cast<double>(element(actual, static_cast<int64_t>(i))) - expected[i]);
    const double ratio = error == 0 ? 0 : error / bound[i];
    if (!(ratio <= worst)) worst = ratio, at = i;
    if (std::isnan(ratio)) break;
  }
  EXPECT_LE(worst, 1.0) << actual.text() << " element " << at << ": "
                        << element(actual, static_cast<int64_t>(at)) << " instead of "
                        << expected[at] << ", allowed error " << bound[at];
  static const bool report = std::getenv("DASHLM_TEST_MARGINS") != nullptr;
  if (report) {
    std::printf("margin %-40s %-14s %.3f\n",
                ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                std::string(actual.name).c_str(), worst);
  }
  return worst;
}

inline int64_t count_nan(const Tensor& x) {
  int64_t count = 0;
  for (int64_t i = 0; i < x.elements(); ++i) count += std::isnan(element(x, i)) ? 1 : 0;
  return count;
}

}  // namespace dashlm::testing
