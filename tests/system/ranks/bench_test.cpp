// Benchmarks of several ranks: one report of them all.
#include <sstream>

#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace {

class RankBenchTest : public RanksTest {
 protected:
  ProcessResult bench(const std::string& what) const {
    return mpirun({"-n", "2", DASHLM_BINARY, "bench", what, path("config.json"), "--steps", "1",
                   "--json", "--set", "optimizer={\"type\": \"dash\", \"block_size\": 16}"});
  }
};

TEST_F(RankBenchTest, OptimizerReportsOnceForBothRanks) {
  const ProcessResult result = bench("optimizer");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::vector<Json> lines;
  std::istringstream text(result.output);
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 4u) << result.output;
  EXPECT_EQ(lines[0]["ranks"], 2);
  for (size_t i = 1; i < lines.size(); ++i) EXPECT_GT(lines[i]["total_ms"], 0) << lines[i];
}

}  // namespace
}  // namespace dashlm::testing
