// How the methods do on given matrices, step by step, beside the root in float64.
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

// What a method made of one matrix.
struct RootOutcome {
  RootStatus status = RootStatus::ok;
  double error = 0;     // root_errors(); of no meaning where the method failed
  double residual = 0;  // max |M - I| that the last Newton step began with
};

class RootStudy {
 public:
  // At least one factor, of any orders; `floor` as root_errors() has it.
  RootStudy(Device& device, const std::vector<RecordedFactor>& factors, double exponent,
            double floor);

  // These have one entry a factor, in the order given.
  std::vector<ExactSpectrum> spectra() const;
  // Start vectors of power iterations are those of seed 0 at step 0.
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

// After how many steps a method is looked at: Newton 1, 2, … `steps`; Chebyshev sixths of `degree`;
// EVD, which has no steps, 1.
std::vector<int64_t> stages_of(const InverseRootConfig& config);
// The method with so many steps instead.
InverseRootConfig with_stage(InverseRootConfig config, int64_t stage);

}  // namespace dashlm
