// Inverse roots in float64, on the host. The methods' roots are compared with them. Matrices of a
// stack are shared out to threads; results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

namespace dashlm {

// The spectrum of a symmetric matrix of order n.
struct ExactSpectrum {
  std::vector<double> values;   // (n) ascending
  std::vector<double> vectors;  // (n, n): row i is the eigenvector of value i

  double largest() const { return values.back(); }
  // largest / least; infinite where the least is not positive, as rounding may leave it.
  double condition() const;
  // The number of eigenvalues above floor · largest.
  int64_t rank(double floor) const;
};

// stack (S, n, n), finite. Throws a runtime_failure Error where LAPACK fails.
std::vector<ExactSpectrum> exact_spectra(const std::vector<float>& stack, int64_t n);

// The error of each root X of roots (S, n, n). V are the eigenvectors of A whose eigenvalues are
// above floor · lambda_max:
//
//   ‖(X - A^(-e))·V‖_F / ‖A^(-e)·V‖_F
//
// Eigenvalues below the floor do not count. In a factor of low rank they are rounding errors, and
// gradients have no part along their eigenvectors.
std::vector<double> root_errors(const std::vector<float>& roots,
                                const std::vector<ExactSpectrum>& exact, double exponent,
                                double floor);

}  // namespace dashlm
