// An inverse root by itself, for benchmarks: a stack of factors, room for their roots, and the
// memory of a method.
#pragma once

#include "optim/inverse_root/inverse_root.h"

namespace dashlm {

class RootTrial {
 public:
  // For a stack of `shape` (S, n, n).
  RootTrial(Device& device, const InverseRootConfig& config, double exponent, const Shape& shape);

  // host (S, n, n)
  void set_factors(const std::vector<float>& host);
  // Queues the work on the device. Returns its floating-point operations.
  double compute();

  // These wait for the device.
  std::vector<float> roots() const;  // (S, n, n)
  std::vector<RootReport> reports() const { return read_reports(device_, reports_); }
  int64_t failures() const;  // blocks

 private:
  void take(const Shape& shape);

  Device& device_;
  Arena memory_, scratch_;
  Tensor factors_, roots_;  // (S, n, n)
  RootReports reports_;
  std::unique_ptr<InverseRoot> method_;
  const double exponent_;
  std::vector<int64_t> ids_;
};

}  // namespace dashlm
