// scripts/test.sh, with a stand-in for the build: which options it takes.
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class TestScript : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    std::filesystem::create_directory(directory_ / "scripts");
    std::filesystem::copy(DASHLM_SOURCE_DIR "/scripts/test.sh", path("scripts/test.sh"));
    write_file("scripts/build.sh", "#!/bin/bash\ntouch built\nexit 1\n");
    std::filesystem::permissions(path("scripts/build.sh"), std::filesystem::perms::owner_all);
  }
  ProcessResult call(std::vector<std::string> arguments) const {
    std::filesystem::remove(path("built"));
    arguments.insert(arguments.begin(), {"/bin/bash", path("scripts/test.sh")});
    return run(arguments);
  }
  bool built() const { return std::filesystem::exists(path("built")); }
};

TEST_F(TestScript, RefusesUnknownOptionsBeforeItBuilds) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--cpuu"}, {"--cpu", "--fast"}, {"--asan", "-R", "io", "-Z"}, {"io"}}) {
    const ProcessResult result = call(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.errors.find("'" + arguments.back() + "'"), std::string::npos) << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(built()) << arguments.back();
  }
}

TEST_F(TestScript, PassesOptionsOnToCtest) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--cpu"}, {"--asan", "-R", "^io"}, {"--cpu", "--timeout", "20", "-V"}, {"-j4"}}) {
    call(arguments);
    EXPECT_TRUE(built()) << arguments.back();
  }
}

}  // namespace
}  // namespace dashlm::testing
