// What all ranks would say alike is said once.
#include "system/ranks/ranks_fixture.h"

namespace dashlm::testing {
namespace {

class RankUsageTest : public RanksTest {
 protected:
  static int count(const std::string& text, const std::string& word) {
    int found = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  }
  static ProcessResult two_ranks(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-n", "2", DASHLM_BINARY});
    return mpirun(arguments);
  }
};

TEST_F(RankUsageTest, HelpIsPrintedOnce) {
  EXPECT_EQ(count(two_ranks({"--help"}).output, "Pretrains Llama models"), 1);
  EXPECT_EQ(count(two_ranks({"train", "--help"}).output, "train a model from a config"), 1);
  EXPECT_EQ(count(two_ranks({"help", "train"}).output, "train a model from a config"), 1);
  EXPECT_EQ(count(two_ranks({"--version"}).output, "compiler"), 1);
  EXPECT_EQ(two_ranks({"--help"}).exit_code, 0);
}

TEST_F(RankUsageTest, WrongUsageIsReportedOnce) {
  const ProcessResult mistyped = two_ranks({"trian"});
  EXPECT_NE(mistyped.exit_code, 0);
  EXPECT_EQ(count(mistyped.errors, "did you mean train?"), 1) << mistyped.errors;
  EXPECT_EQ(count(two_ranks({"plan", "x.json"}).errors, "works in one process"), 1);
}

}  // namespace
}  // namespace dashlm::testing
