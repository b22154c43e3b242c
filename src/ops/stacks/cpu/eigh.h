// Eigen-decompositions of single matrices on the host.
#pragma once

#include <vector>

namespace dashlm::cpu {

// In double precision: a (n, n) becomes the eigenvectors, in rows, of values (n), ascending. False
// when LAPACK reports an error.
bool eigh_in_place(std::vector<double>& a, std::vector<double>& values);

}  // namespace dashlm::cpu
