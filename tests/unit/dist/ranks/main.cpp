// Run by mpirun on two or more ranks; every rank checks its own results.
#include <gtest/gtest.h>

#include <iostream>

#include "base/log.h"
#include "dist/launch.h"
#include "ops/core/cpu_kernels.h"
#include "unit/dist/ranks/world.h"

namespace dashlm::testing {
namespace {
Communicator* the_world = nullptr;
}

Communicator& world() {
  return *the_world;
}

}  // namespace dashlm::testing

int main(int argc, char** argv) {
  dashlm::restart_with_right_kernels(argv);
  dashlm::init_logging(/*quiet=*/true);
  ::testing::InitGoogleTest(&argc, argv);
  return dashlm::run_on_ranks([](dashlm::Communicator& communicator) {
    dashlm::testing::the_world = &communicator;
    if (communicator.rank() != 0) {  // one report is enough; failures are printed by all
      auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
      class FailuresOnly : public ::testing::EmptyTestEventListener {
        void OnTestPartResult(const ::testing::TestPartResult& result) override {
          if (result.failed()) std::cerr << result << "\n";
        }
      };
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new FailuresOnly);
    }
    return RUN_ALL_TESTS();
  });
}
