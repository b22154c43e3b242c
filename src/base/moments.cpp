#include "base/moments.h"

#include <algorithm>
#include <cmath>

namespace dashlm {

Moments Moments::of(std::span<const float> values) {
  Moments result;
  if (values.empty()) return result;
  result.count = static_cast<int64_t>(values.size());
  for (const float x : values) {
    result.mean += static_cast<double>(x);
    result.largest = std::max(result.largest, std::abs(static_cast<double>(x)));
  }
  result.mean /= static_cast<double>(result.count);
  for (const float x : values) {
    const double d = static_cast<double>(x) - result.mean, square = d * d;
    result.sum2 += square;
    result.sum3 += square * d;
    result.sum4 += square * square;
  }
  return result;
}

Moments& Moments::operator+=(const Moments& other) {
  if (other.count == 0) return *this;
  if (count == 0) return *this = other;
  const auto a = static_cast<double>(count), b = static_cast<double>(other.count), n = a + b;
  // The distance of the means in units of the whole, and powers of it.
  const double d = other.mean - mean, step = d / n, step2 = step * step;
  sum4 += other.sum4 + d * step * step2 * a * b * (a * a - a * b + b * b) +
          6 * step2 * (a * a * other.sum2 + b * b * sum2) + 4 * step * (a * other.sum3 - b * sum3);
  sum3 += other.sum3 + d * step2 * a * b * (a - b) + 3 * step * (a * other.sum2 - b * sum2);
  sum2 += other.sum2 + d * step * a * b;
  mean += step * b;
  count += other.count;
  largest = std::max(largest, other.largest);
  return *this;
}

double Moments::deviation() const {
  return std::sqrt(sum2 / static_cast<double>(count));
}

double Moments::kurtosis() const {
  return static_cast<double>(count) * sum4 / (sum2 * sum2);
}

double Moments::max_over_rms() const {
  return largest / std::sqrt(mean * mean + sum2 / static_cast<double>(count));
}

}  // namespace dashlm
