// Compares the methods on given matrices with the root in float64, step by step.
#pragma once

#include <string>
#include <vector>

#include "ops/roots/exact_root.h"
#include "optim/inverse_root/inverse_root.h"

namespace dashlm {

struct RecordedFactor {
  std::string name;           // "L of layer0.qkv[0:64, 0:64]"
  int64_t n = 0;              // its order
  std::vector<float> matrix;  // (n, n), finite and not zero
};

// The result of a method on one matrix.
struct RootOutcome {
  RootStatus status = RootStatus::ok;
  double error = 0;     // root_errors(); meaningless if the method failed
  double residual = 0;  // max |M - I| before the last Newton step
};

class RootStudy {
 public:
  // `factors` has at least one factor; sizes may differ. `floor` as in root_errors().
  RootStudy(Device& device, const std::vector<RecordedFactor>& factors, double exponent,
            double floor);

  // Both results have one entry a factor, in the given order.
  std::vector<ExactSpectrum> spectra() const;
  // Power iterations start from the vectors of seed 0 at step 0.
  std::vector<RootOutcome> run(const InverseRootConfig& config) const;

 private:
  struct Stack {
    int64_t n = 0;
    std::vector<size_t> members;  // indices of factors
    std::vector<float> matrices;  // (S, n, n)
    std::vector<ExactSpectrum> exact;
  };

  Device& device_;
  const size_t count_;
  const double exponent_, floor_;
  std::vector<Stack> stacks_;
};

// The numbers of steps after which a method is measured. Newton's methods have 1, 2, … `steps`,
// Chebyshev has sixths of `degree`, EVD has 1.
std::vector<int64_t> stages_of(const InverseRootConfig& config);
// The method with `stage` steps.
InverseRootConfig with_stage(InverseRootConfig config, int64_t stage);

}  // namespace dashlm
