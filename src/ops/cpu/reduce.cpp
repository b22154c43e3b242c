#include "ops/reduce.h"

#include <vector>

#include "device/cpu/parallel.h"
#include "ops/cpu/kernels.h"

namespace dashlm::cpu {
namespace {

// Sums term(x) over all elements: partial sums of fixed ranges, added up in order.
template <class Term>
double sum_of(const Tensor& x, const Term& term) {
  constexpr int64_t kGrain = 1 << 14;
  const float* data = x.f32();
  std::vector<double> partial(static_cast<size_t>((x.elements() + kGrain - 1) / kGrain));
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = begin; i < end; ++i) total += term(static_cast<double>(data[i]));
    partial[static_cast<size_t>(begin / kGrain)] = total;
  });
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

}  // namespace

double sum(const Tensor& x) {
  return sum_of(x, [](double v) { return v; });
}

double sum_of_squares(const Tensor& x) {
  return sum_of(x, [](double v) { return v * v; });
}

}  // namespace dashlm::cpu
