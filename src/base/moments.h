// The shape of a distribution: moments of many values, in double precision.
#pragma once

#include <cstdint>
#include <span>

namespace dashlm {

// The mean is subtracted before values are raised to a power, so no digits are lost where the mean
// is far from 0. Adding up parts in a fixed order gives the same bits every time.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double sum2 = 0, sum3 = 0, sum4 = 0;  // sums of (x - mean)^k
  double largest = 0;                   // max |x|

  static Moments of(std::span<const float> values);
  // The moments of both sets together (Pébay 2008, "Formulas for robust, one-pass parallel
  // computation of covariances and arbitrary-order statistical moments").
  Moments& operator+=(const Moments& other);

  // sigma = √m2, where m_k is the mean of (x - mean)^k over all values.
  double deviation() const;
  // m4 / m2²: 3 for a normal distribution, 9/5 for a uniform one. NaN if all values are equal.
  double kurtosis() const;
  // max |x| / √mean(x²), about 0 and not about the mean. NaN if all values are 0.
  double max_over_rms() const;
};

}  // namespace dashlm
