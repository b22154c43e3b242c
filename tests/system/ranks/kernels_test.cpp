// Ranks see to their kernels as a single process does, before MPI starts.
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace {

using RankKernels = RanksTest;

TEST_F(RankKernels, EveryRankReplacesWrongOnes) {
  std::vector<std::string> command = {DASHLM_MPIRUN, "--oversubscribe", "--bind-to", "none"};
  const std::vector<std::string> ranks = ranks_command(2, out());
  command.insert(command.end(), ranks.begin(), ranks.end());
  const ProcessResult result = run(command, [] {
    fake_openblas_core();
    allow_root();
  });
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::string log = read_file("run/log.txt");
  EXPECT_NE(log.find("CPU kernels: products "), std::string::npos) << log;
  EXPECT_EQ(log.find("Prescott"), std::string::npos) << log;
  EXPECT_EQ(result.errors.find("Prescott"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace dashlm::testing
