#include "train/update_measure.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace dashlm {
namespace {

static_assert(std::is_trivially_copyable_v<UpdateMeasure>, "ranks exchange it as bytes");

std::string bytes_of(const std::vector<UpdateMeasure>& measures) {
  std::string bytes(measures.size() * sizeof(UpdateMeasure), '\0');
  std::memcpy(bytes.data(), measures.data(), bytes.size());
  return bytes;
}

UpdateMeasure measure_at(const std::string& bytes, size_t index) {
  UpdateMeasure measure;
  std::memcpy(&measure, bytes.data() + index * sizeof(measure), sizeof(measure));
  return measure;
}

UpdateCycle summarised(std::span<const UpdateMeasure> updates) {
  UpdateCycle cycle;
  UpdateMeasure& mean = cycle.mean;
  const double weight = 1.0 / static_cast<double>(updates.size());
  double possible = 0;  // FLOPs of the machine at its peak in the same time
  for (const UpdateMeasure& update : updates) {
    mean.times.pack += weight * update.times.pack;
    mean.times.factors += weight * update.times.factors;
    mean.times.roots += weight * update.times.roots;
    mean.times.update += weight * update.times.update;
    mean.flops += weight * update.flops;
    possible += weight * update.times.total() * update.machine;
    cycle.peak_ms = std::max(cycle.peak_ms, update.times.total());
  }
  mean.machine = possible / mean.times.total();
  return cycle;
}

}  // namespace

std::vector<UpdateMeasure> of_slowest_ranks(Communicator& communicator,
                                            const std::vector<UpdateMeasure>& own) {
  std::vector<UpdateMeasure> slowest = own;
  for (const std::string& bytes : communicator.exchange(bytes_of(own))) {
    if (bytes.size() != own.size() * sizeof(UpdateMeasure)) {
      fail_runtime("ranks measured different numbers of updates: {} and {}", own.size(),
                   bytes.size() / sizeof(UpdateMeasure));
    }
    for (size_t i = 0; i < slowest.size(); ++i) {
      const UpdateMeasure other = measure_at(bytes, i);
      if (other.times.total() > slowest[i].times.total()) slowest[i] = other;
    }
  }
  return slowest;
}

UpdateCycle median_cycle(std::span<const UpdateMeasure> updates, int64_t frequency) {
  const auto length = static_cast<size_t>(frequency);
  if (updates.empty() || updates.size() % length != 0) {
    fail_runtime("{} updates are no whole cycles of {}", updates.size(), frequency);
  }
  std::vector<UpdateCycle> cycles;
  std::vector<double> peaks;
  for (size_t first = 0; first < updates.size(); first += length) {
    cycles.push_back(summarised(updates.subspan(first, length)));
    peaks.push_back(cycles.back().peak_ms);
  }
  std::sort(peaks.begin(), peaks.end());
  std::sort(cycles.begin(), cycles.end(), [](const UpdateCycle& a, const UpdateCycle& b) {
    return a.mean.times.total() < b.mean.times.total();
  });
  return {cycles[cycles.size() / 2].mean, peaks[peaks.size() / 2]};
}

}  // namespace dashlm
