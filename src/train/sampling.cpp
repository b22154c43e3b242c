#include "train/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace dashlm {
namespace {

size_t index_of(int32_t token) {
  return static_cast<size_t>(token);
}

}  // namespace

int32_t sample_token(const std::vector<float>& logits, const SamplingConfig& config,
                     int64_t position) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties go to the smaller token, so that the order is the same everywhere.
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return logits[index_of(a)] > logits[index_of(b)]; });
  if (config.temperature <= 0) return order.front();

  if (config.top_k > 0 && index_of(static_cast<int32_t>(config.top_k)) < order.size()) {
    order.resize(static_cast<size_t>(config.top_k));
  }
  const double highest = logits[index_of(order.front())];
  std::vector<double> weights;
  for (const int32_t token : order) {
    weights.push_back(std::exp((logits[index_of(token)] - highest) / config.temperature));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < config.top_p * total)) {
    kept += weights[count++];
  }

  const CounterRandom random(static_cast<uint64_t>(config.seed), Purpose::sampling);
  double target = kept * random.uniform(static_cast<uint64_t>(position));
  for (size_t i = 0; i < count; ++i) {
    target -= weights[i];
    if (target < 0) return order[i];
  }
  return order[count - 1];
}

}  // namespace dashlm
