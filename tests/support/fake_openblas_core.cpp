// Preloaded in tests: OpenBLAS seems to have chosen kernels of 2004 by itself, as a version does
// that is older than the processor. Where it was asked for others, it tells the truth.
#include <dlfcn.h>

#include <cstdlib>

extern "C" char* openblas_get_corename() {
  static char prescott[] = "Prescott";
  if (!std::getenv("OPENBLAS_CORETYPE")) return prescott;
  return reinterpret_cast<char* (*)()>(dlsym(RTLD_NEXT, "openblas_get_corename"))();
}
