// One case of the parity table on one device: inputs that are the same on every device, one
// computation, and what came out.
//
// Nothing here assumes that the host can read the device's memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "ops/core/context.h"

namespace dashlm::parity {

using Doubles = std::vector<double>;

// Unit roundoffs: the relative error of one rounding to nearest is at most this.
constexpr double kRoundoff = 0x1.0p-24;     // f32
constexpr double kRoundoffBf16 = 0x1.0p-8;  // bf16

// By how much an element x of an output may differ between two devices:
//   element · |x| + norm · (root mean square of the output, or of the element's group)
// The first covers rounding of the element itself, the second the noise of sums whose terms cancel.
// Both 0: every bit must agree.
struct Bound {
  double element = 0;
  double norm = 0;
  int64_t group = 0;  // consecutive elements that are of one size; 0: all
};

constexpr Bound kExact{};

// Of an output rounded to `dtype` after a sum of `terms` terms of either sign in fp32. Two devices
// add in different orders. One that adds term by term is off by about sqrt(terms / 2) roundoffs of
// the sum's size; a few standard deviations of that are allowed. Rounding may then go either way,
// which is one unit in the last place: two roundoffs.
inline Bound sum_bound(DType dtype, int64_t terms) {
  const double noise = 4 * kRoundoff * std::sqrt(static_cast<double>(terms));
  return {dtype == DType::bf16 ? 2 * kRoundoffBf16 : 4 * kRoundoff, noise};
}

// Of a function of single elements, made of a few operations in fp32.
inline Bound element_bound(DType dtype) {
  return {dtype == DType::bf16 ? 2 * kRoundoffBf16 : 16 * kRoundoff, 2 * kRoundoff};
}

struct Output {
  std::string name;
  Bound bound;
  Doubles values;
};

class Run {
 public:
  // With `widen`, bf16 tensors are f32 tensors of the same (rounded) values: what the operation
  // would give if it lost nothing on the way.
  explicit Run(Device& device, bool widen = false) : device_(device), widen_(widen) {}
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // --- Inputs. Each call draws other numbers; bf16 inputs are rounded.
  Tensor normal(const std::string& name, DType dtype, Shape shape, double deviation = 1,
                double mean = 0);
  Tensor integers(const std::string& name, Shape shape, int64_t low, int64_t high);  // i32, < high
  Tensor given(const std::string& name, DType dtype, Shape shape, const Doubles& values);
  // Symmetric positive definite (S, n, n) with eigenvalues from about 0.5 to 4.
  Tensor definite(const std::string& name, int64_t blocks, int64_t n);

  // --- Outputs: NaN everywhere, or for integers a number that nothing computes.
  Tensor output(const std::string& name, DType dtype, Shape shape, Bound bound);
  // Of bf16 even in a widened run.
  Tensor rounded_output(const std::string& name, Shape shape, Bound bound);
  // An input that the operation changes counts as an output too.
  Tensor updated(const Tensor& input, Bound bound);

  // Plans the scratch memory of `operation`, then runs it. The device is waited for.
  void compute(const std::function<void(Context&)>& operation);

  std::vector<Output> outputs() const;
  Doubles values(const Tensor& tensor) const;  // what is there now
  bool uses_bf16() const { return uses_bf16_; }

 private:
  Tensor take(const std::string& name, DType dtype, const Shape& shape);
  void fill(const Tensor& tensor, const Doubles& values);
  DType stored(DType dtype);

  struct Compared {
    Tensor tensor;
    Bound bound;
  };

  Device& device_;
  const bool widen_;
  bool uses_bf16_ = false;
  uint64_t draws_ = 0;
  std::vector<void*> memory_;
  std::vector<Compared> compared_;
};

struct Comparison {
  std::string output;
  double worst = 0;  // the largest error, as a multiple of its bound; more than 1 is a failure
  double got = 0, want = 0;  // there
  int64_t at = 0;

  bool ok() const { return worst <= 1; }
};

Comparison compare(const Output& got, const Output& want);

// Two devices that round a bf16 output to nearest seldom round an element differently. One that
// truncates does so every other time, which no bound on single elements shows. `worst` is the share
// of elements that were rounded differently, as a multiple of what is allowed.
Comparison compare_rounding(const Output& got, const Output& want);

}  // namespace dashlm::parity
