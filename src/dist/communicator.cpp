#include "dist/communicator.h"

#include <cstring>

namespace dashlm {

std::vector<double> Communicator::sum(std::span<const double> values) {
  const std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::vector<double> total(values.size(), 0.0);
  for (const std::string& bytes : exchange(mine)) {
    if (bytes.size() != mine.size()) {
      fail_runtime("ranks disagree on how many values to add up: {} and {} bytes", mine.size(),
                   bytes.size());
    }
    for (size_t i = 0; i < total.size(); ++i) {
      double value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      total[i] += value;
    }
  }
  return total;
}

Work LoneCommunicator::reduce_scatter(const Tensor&, const Tensor&, std::span<const int64_t>,
                                      const Tensor&) {
  fail_runtime("reduce_scatter: one process has nobody to share with");
}

Work LoneCommunicator::all_gather(const Tensor&, const Tensor&, std::span<const int64_t>) {
  fail_runtime("all_gather: one process has nobody to share with");
}

std::vector<std::string> LoneCommunicator::exchange(const std::string& bytes) {
  if (size_ > 1) fail_runtime("rank {} of {} is only planned", rank_, size_);
  return {bytes};
}

}  // namespace dashlm
