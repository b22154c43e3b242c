#include "train/peak_share.h"

#include "base/error.h"

namespace dashlm {

std::vector<double> shares_of_peak(std::span<const double> rates, std::span<const double> peaks) {
  if (peaks.size() != rates.size() + 1) {
    fail_runtime("{} rates need one peak more, not {}", rates.size(), peaks.size());
  }
  std::vector<double> shares;
  for (size_t i = 0; i < rates.size(); ++i) {
    shares.push_back(2 * rates[i] / (peaks[i] + peaks[i + 1]));
  }
  return shares;
}

}  // namespace dashlm
