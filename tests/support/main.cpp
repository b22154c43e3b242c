// The main() of tests that compute: GoogleTest's own, on the kernels that the program itself uses.
#include <gtest/gtest.h>

#include "ops/core/cpu_kernels.h"

int main(int argc, char** argv) {
  dashlm::restart_with_right_kernels(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
