// What is whose: places of ranks, shares of work in order, owners of blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dashlm {

// One of the ranks of a run.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
};

// One of `parts` consecutive parts of [0, count), which are as equal as possible.
struct Share {
  int64_t begin = 0, end = 0;

  static Share of(int64_t count, int part, int parts) {
    return {count * part / parts, count * (part + 1) / parts};
  }
  int64_t size() const { return end - begin; }
};

// The owner of each item, 0 to ranks - 1. The most expensive item goes first, to the rank with the
// least cost so far (Graham 1969, "longest processing time first": at most 4/3 of the best
// possible).
//
// Ties are broken by position, later items first, and by rank. So items of equal cost are dealt out
// in turn from the last to the first. The backward pass completes gradients in this order, and each
// part of it has work for every rank.
std::vector<int> share_out(std::span<const double> costs, int ranks);

// The cost of each rank's items.
std::vector<double> cost_by_rank(std::span<const double> costs, std::span<const int> owners,
                                 int ranks);
// Largest over mean; 1 is perfect.
double imbalance(std::span<const double> loads);

}  // namespace dashlm
