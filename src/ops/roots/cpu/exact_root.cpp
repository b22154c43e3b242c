#include "ops/roots/exact_root.h"

#include <cblas.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "device/cpu/parallel.h"
#include "ops/stacks/cpu/eigh.h"

namespace dashlm {
namespace {

using std::vector;

double error_of(const float* root, const ExactSpectrum& exact, double exponent, double floor) {
  const int64_t n = std::ssize(exact.values), rank = exact.rank(floor);
  const vector<double> x(root, root + n * n);
  const auto first = static_cast<size_t>(n - rank);
  const double* v = exact.vectors.data() + (n - rank) * n;
  vector<double> difference(static_cast<size_t>(rank * n));  // of V's rows, since X is symmetric
  double squares = 0;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    const double h = std::pow(exact.values[first + i], -exponent);
    squares += h * h;
    const size_t row = i * static_cast<size_t>(n);
    for (size_t j = 0; j < static_cast<size_t>(n); ++j) difference[row + j] = h * v[row + j];
  }
  const auto order = static_cast<blasint>(n), rows = static_cast<blasint>(rank);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, order, order, 1.0, v, order,
              x.data(), order, -1.0, difference.data(), order);
  double errors = 0;
  for (const double d : difference) errors += d * d;
  return std::sqrt(errors / squares);
}

}  // namespace

double ExactSpectrum::condition() const {
  const double least = values.front();
  return least > 0 ? largest() / least : std::numeric_limits<double>::infinity();
}

int64_t ExactSpectrum::rank(double floor) const {
  return std::count_if(values.begin(), values.end(),
                       [&](double value) { return value > floor * largest(); });
}

vector<ExactSpectrum> exact_spectra(const vector<float>& stack, int64_t n) {
  vector<ExactSpectrum> spectra(stack.size() / static_cast<size_t>(n * n));
  cpu::parallel_for(std::ssize(spectra), [&](int64_t s) {
    const float* matrix = stack.data() + s * n * n;
    ExactSpectrum& spectrum = spectra[static_cast<size_t>(s)];
    spectrum.vectors.assign(matrix, matrix + n * n);
    spectrum.values.resize(static_cast<size_t>(n));
    if (!cpu::eigh_in_place(spectrum.vectors, spectrum.values)) {
      fail_runtime("LAPACK found no eigenvalues of matrix {} of a stack of order {}", s, n);
    }
  });
  return spectra;
}

vector<double> root_errors(const vector<float>& roots, const vector<ExactSpectrum>& exact,
                           double exponent, double floor) {
  vector<double> errors(exact.size());
  const int64_t elements = std::ssize(roots) / std::ssize(exact);
  cpu::parallel_for(std::ssize(exact), [&](int64_t s) {
    const auto at = static_cast<size_t>(s);
    errors[at] = error_of(roots.data() + s * elements, exact[at], exponent, floor);
  });
  return errors;
}

}  // namespace dashlm
