// Which rank owns which block.
#pragma once

#include <span>
#include <vector>

namespace dashlm {

// The owner, 0 to ranks - 1, of each item: the most expensive one first, each to the rank that has
// least so far (Graham 1969, "longest processing time first": at most 4/3 of the best possible).
//
// Ties are broken by position, later items first, and by rank. Items of equal cost are therefore
// dealt out in turn from the last to the first, which is the order in which the backward pass
// completes their gradients: each stretch of it has work for every rank.
std::vector<int> share_out(std::span<const double> costs, int ranks);

// The cost of each rank's items.
std::vector<double> cost_by_rank(std::span<const double> costs, std::span<const int> owners,
                                 int ranks);
// Largest over mean; 1 is perfect.
double imbalance(std::span<const double> loads);

}  // namespace dashlm
