// Training runs of several ranks, started by the real mpirun.
#pragma once

#include "system/cli/run_fixture.h"

namespace dashlm::testing {

class RanksTest : public RunTest {
 protected:
  // The default run with one thread a rank, a clipped gradient, and weights compared after every
  // step.
  void SetUp() override;

  // dashlm train under mpirun, into `out`, with these arguments added.
  std::vector<std::string> ranks_command(int ranks, const std::string& out,
                                         const std::vector<std::string>& extra = {}) const;
  ProcessResult train_ranks(int ranks, const std::string& out,
                            const std::vector<std::string>& extra = {}) const;
  static ProcessResult mpirun(const std::vector<std::string>& arguments);
  // What a process needs in its environment before it becomes mpirun.
  static void allow_root();

  // Process numbers of the ranks of an mpirun that is running.
  static std::vector<pid_t> rank_processes(pid_t mpirun);

  // Losses and gradient norms of each step agree to 1e-5; in expect_same_curve() validation losses
  // too.
  static void expect_losses_close(const std::string& run, const std::string& reference,
                                  double tolerance = 1e-5);
  void expect_same_curve(const std::string& run, const std::string& reference) const;
};

}  // namespace dashlm::testing
