// The compute kernels on this processor.
//
// Products run on dashlm's own kernels, which are chosen by the processor's features. OpenBLAS does
// eigen-decompositions, and the product that measures the machine's peak. It chooses its kernels by
// the processor's model while it is loaded. For an unknown model it takes kernels of 2004, so a
// version older than the processor may run at a fifth of the speed.
#pragma once

#include <string>

namespace dashlm {

struct CpuKernels {
  std::string products;  // an instruction set: "avx512"
  std::string openblas;  // version and kernels: "OpenBLAS 0.3.21 SkylakeX"
  std::string warning;   // OpenBLAS's kernels are too old, and the remedy; mostly empty

  // "products by our avx512 kernels, eigen-decompositions by OpenBLAS 0.3.21 SkylakeX"
  std::string text() const;
};
CpuKernels cpu_kernels();

// Starts the program again, with the same arguments and OPENBLAS_CORETYPE set, if OpenBLAS has
// chosen kernels for a lesser instruction set than the processor's. Call it first in main(), since
// all earlier work is lost. A user's own OPENBLAS_CORETYPE is respected. Returns if the choice is
// good or cannot be changed.
void restart_with_right_kernels(char** arguments);

}  // namespace dashlm
