// OpenBLAS chooses its kernels by itself, and may choose old ones (support/fake_openblas_core.cpp).
#include <cstdlib>
#include <map>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class KernelsTest : public RunTest {
 protected:
  // `dashlm devices --json`, where OpenBLAS by itself takes its kernels for Prescott.
  static Json kernels(const char* core_type, const char* instruction_set = nullptr) {
    const ProcessResult result = run({DASHLM_BINARY, "devices", "--json"}, [&] {
      fake_openblas_core(core_type);
      if (instruction_set) setenv("DASHLM_INSTRUCTION_SET", instruction_set, 1);
    });
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return Json::parse(result.output).at("cpu_kernels");
  }

  static bool processor_is_older() { return kernels(nullptr).at("products") == "baseline"; }
};

TEST_F(KernelsTest, TheProgramReplacesWrongOnes) {
  const Json found = kernels(nullptr);
  EXPECT_FALSE(found.contains("warning")) << found;
  const std::map<std::string, std::string> best = {
      {"baseline", "Prescott"}, {"avx2", "Haswell"}, {"avx512", "SkylakeX"}};
  const auto openblas = found.at("openblas").get<std::string>();
  EXPECT_NE(openblas.find(best.at(found.at("products"))), std::string::npos) << openblas;
}

TEST_F(KernelsTest, AUsersOwnChoiceIsRespectedAndSlowOnesWarnedOf) {
  const Json found = kernels("Prescott");
  EXPECT_NE(found.at("openblas").get<std::string>().find("Prescott"), std::string::npos);
  if (processor_is_older()) return;
  const auto warning = found.at("warning").get<std::string>();
  EXPECT_NE(warning.find("Prescott"), std::string::npos) << warning;
  EXPECT_NE(warning.find("OPENBLAS_CORETYPE is Prescott"), std::string::npos) << warning;
}

TEST_F(KernelsTest, TheInstructionSetOfProductsCanBeChosen) {
  EXPECT_EQ(kernels(nullptr, "baseline").at("products"), "baseline");
  const ProcessResult wrong = run({DASHLM_BINARY, "devices"}, [] {
    fake_openblas_core();
    setenv("DASHLM_INSTRUCTION_SET", "sse9", 1);
  });
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.errors.find("DASHLM_INSTRUCTION_SET"), std::string::npos) << wrong.errors;
  EXPECT_NE(wrong.errors.find("avx512"), std::string::npos) << wrong.errors;
}

TEST_F(KernelsTest, ARunTellsInItsLog) {
  const ProcessResult result = run(train_command(), [] { fake_openblas_core(); });
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::string log = read_file("run/log.txt");
  EXPECT_NE(log.find("CPU kernels: products "), std::string::npos) << log;
  EXPECT_EQ(log.find("Prescott"), std::string::npos) << log;
}

}  // namespace
}  // namespace dashlm::testing
