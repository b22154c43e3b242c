#include <vector>

#include "device/cpu/parallel.h"
#include "ops/core/backends.h"

namespace dashlm::cpu {
namespace {

// A function of its own: within a lambda, `x` would be a captured reference, which compilers load
// anew, and gather through, for every element.
template <class Term>
double sum_of_range(const float* x, int64_t count, Term term) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < count; ++i) total += term(static_cast<double>(x[i]));
  return total;
}

// Sums term(x) over all elements: partial sums of fixed ranges, added up in order.
template <class Term>
double sum_of(const ConstTensor& x, Term term) {
  constexpr int64_t kGrain = 1 << 14;
  const float* data = x.f32();
  std::vector<double> partial(static_cast<size_t>((x.elements() + kGrain - 1) / kGrain));
  parallel_ranges(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    partial[static_cast<size_t>(begin / kGrain)] = sum_of_range(data + begin, end - begin, term);
  });
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

}  // namespace

void add_sum(Context& context, const Tensor& total, const ConstTensor& x) {
  context.compute([&] { *total.as<double>() += sum_of(x, [](double v) { return v; }); });
}

void add_sum_of_squares(Context& context, const Tensor& total, const ConstTensor& x) {
  context.compute([&] { *total.as<double>() += sum_of(x, [](double v) { return v * v; }); });
}

}  // namespace dashlm::cpu
