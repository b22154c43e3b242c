// Which compute kernels run on this processor.
//
// Products run on our own kernels, which are chosen by what the processor can do. OpenBLAS does
// eigen-decompositions, and the product that measures the machine's peak. It chooses its kernels by
// the processor's model while it is loaded, so that a version older than the processor may run at a
// fifth of the speed: its kernels for a model unknown to it are those of 2004.
#pragma once

#include <string>

namespace dashlm {

struct CpuKernels {
  std::string products;  // an instruction set: "avx512"
  std::string openblas;  // version and kernels: "OpenBLAS 0.3.21 SkylakeX"
  std::string warning;   // says that OpenBLAS's kernels are too old, and what to do; mostly empty

  // "products by our avx512 kernels, eigen-decompositions by OpenBLAS 0.3.21 SkylakeX"
  std::string text() const;
};
CpuKernels cpu_kernels();

// Starts the program again, with the same arguments and OPENBLAS_CORETYPE set, where OpenBLAS has
// chosen kernels for a lesser instruction set than the processor's. To be called first in main():
// what the program did before is lost. A user's own OPENBLAS_CORETYPE is respected. It returns
// where there is nothing to mend, or no way to.
void restart_with_right_kernels(char** arguments);

}  // namespace dashlm
