#include "dist/ownership.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace dashlm {

std::vector<int> share_out(std::span<const double> costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  using Load = std::pair<double, int>;  // the least loaded rank is at the top
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int rank = 0; rank < ranks; ++rank) loads.emplace(0.0, rank);
  std::vector<int> owners(costs.size());
  for (const size_t item : order) {
    const auto [load, rank] = loads.top();
    loads.pop();
    owners[item] = rank;
    loads.emplace(load + costs[item], rank);
  }
  return owners;
}

std::vector<double> cost_by_rank(std::span<const double> costs, std::span<const int> owners,
                                 int ranks) {
  std::vector<double> loads(static_cast<size_t>(ranks));
  for (size_t i = 0; i < costs.size(); ++i) loads[static_cast<size_t>(owners[i])] += costs[i];
  return loads;
}

double imbalance(std::span<const double> loads) {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (total == 0) return 1.0;
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) / total;
}

}  // namespace dashlm
