// Rates as shares of a machine's peak. The speed of a shared machine drifts, so each rate is
// compared with peaks measured just before and just after.
#pragma once

#include <span>
#include <vector>

namespace dashlm {

// Share i is rates[i] over the mean of peaks[i] and peaks[i + 1], which were measured before and
// after it. All are in FLOP/s. Throws a runtime_failure Error unless there is one peak more than
// rates.
std::vector<double> shares_of_peak(std::span<const double> rates, std::span<const double> peaks);

}  // namespace dashlm
