// Small double-precision matrices to test against.
#pragma once

#include <cblas.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace dashlm::testing {

// Row-major n × n.
struct Dense {
  int64_t n = 0;
  std::vector<double> data;

  explicit Dense(int64_t order) : n(order), data(static_cast<size_t>(order * order)) {}
  static Dense identity(int64_t n) {
    Dense result(n);
    for (int64_t i = 0; i < n; ++i) result(i, i) = 1.0;
    return result;
  }
  static Dense of(const float* x, int64_t n) {
    Dense result(n);
    result.data.assign(x, x + n * n);
    return result;
  }

  double& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i * n + j)]; }
  double operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * n + j)]; }

  double frobenius() const {
    double squares = 0;
    for (const double x : data) squares += x * x;
    return std::sqrt(squares);
  }
};

inline Dense operator*(const Dense& a, const Dense& b) {
  Dense c(a.n);
  const auto n = static_cast<blasint>(a.n);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a.data.data(), n,
              b.data.data(), n, 0.0, c.data.data(), n);
  return c;
}

// a·I + b·M
inline Dense plus_identity(double a, double b, const Dense& m) {
  Dense result = m;
  for (double& x : result.data) x *= b;
  for (int64_t i = 0; i < m.n; ++i) result(i, i) += a;
  return result;
}

// Largest |M - I|.
inline double distance_to_identity(const Dense& m) {
  double largest = 0;
  for (int64_t i = 0; i < m.n; ++i) {
    for (int64_t j = 0; j < m.n; ++j) {
      largest = std::max(largest, std::fabs(m(i, j) - (i == j ? 1.0 : 0.0)));
    }
  }
  return largest;
}

// ‖x - y‖_F / ‖y‖_F
inline double relative_error(const Dense& x, const Dense& y) {
  Dense difference = x;
  for (size_t i = 0; i < y.data.size(); ++i) difference.data[i] -= y.data[i];
  return difference.frobenius() / y.frobenius();
}

// A symmetric matrix of known eigenvectors: Q·diag(values)·Qᵀ, where Q is a product of random
// reflections, and so orthogonal to the last bit or two.
class Spectrum {
 public:
  Spectrum(std::vector<double> values, uint64_t seed)
      : values_(std::move(values)), q_(Dense::identity(std::ssize(values_))) {
    constexpr uint64_t kReflections = 6;
    const CounterRandom random(seed, Purpose::test);
    const int64_t n = q_.n;
    for (uint64_t k = 0; k < kReflections; ++k) {
      std::vector<double> v(static_cast<size_t>(n));
      double squares = 0;
      for (size_t i = 0; i < v.size(); ++i) {
        v[i] = random.normal(k * v.size() + i);
        squares += v[i] * v[i];
      }
      for (int64_t i = 0; i < n; ++i) {
        double dot = 0;
        for (int64_t j = 0; j < n; ++j) dot += q_(i, j) * v[static_cast<size_t>(j)];
        for (int64_t j = 0; j < n; ++j) {
          q_(i, j) -= 2 * dot / squares * v[static_cast<size_t>(j)];
        }
      }
    }
  }

  const std::vector<double>& values() const { return values_; }

  // Q·diag(f(value))·Qᵀ
  template <class F>
  Dense map(const F& f) const {
    Dense weighted = q_, transposed(q_.n);
    for (int64_t i = 0; i < q_.n; ++i) {
      for (int64_t j = 0; j < q_.n; ++j) {
        weighted(i, j) *= f(values_[static_cast<size_t>(j)]);
        transposed(i, j) = q_(j, i);
      }
    }
    return weighted * transposed;
  }

  // The matrix itself, rounded to float and exactly symmetric.
  std::vector<float> matrix() const {
    const Dense a = map([](double v) { return v; });
    std::vector<float> result(a.data.size());
    for (int64_t i = 0; i < a.n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const auto value = static_cast<float>(a(i, j));
        result[static_cast<size_t>(i * a.n + j)] = result[static_cast<size_t>(j * a.n + i)] = value;
      }
    }
    return result;
  }

  // n values from 1 down to 1/condition, evenly spaced in the logarithm, times `largest`.
  static std::vector<double> log_spaced(int64_t n, double condition, double largest = 1.0) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
      const double fraction = n == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(n - 1);
      values.push_back(largest * std::pow(condition, -fraction));
    }
    return values;
  }

 private:
  std::vector<double> values_;
  Dense q_;
};

}  // namespace dashlm::testing
