// scripts/gpu_check.sh in a bundle whose programs are stand-ins: what it leaves when a section
// fails, and when it is killed.
#include <csignal>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class GpuCheckScript : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    std::filesystem::create_directories(directory_ / "bin");
    std::filesystem::copy(DASHLM_SOURCE_DIR "/scripts/gpu_check.sh", path("gpu_check.sh"));
    write_program("dashlm", "exit 0");
    write_program("golden_replay", "echo 'roots.safetensors kind=roots max_rel_err=1e-6 ok'");
  }

  void write_program(const std::string& name, const std::string& body) const {
    write_file("bin/" + name, "#!/bin/bash\n" + body + "\n");
    std::filesystem::permissions(directory_ / "bin" / name, std::filesystem::perms::owner_all);
  }
  // gpu_check prints a line for its section, after `body`.
  void write_gpu_check(const std::string& body) const {
    write_program("gpu_check", body + R"(
printf '%s\tsays "1\\2"\t3\tms\t-\tinfo\n' "$1")");
  }

  // The script's process is that of the shell here, whose id is $SCRIPT for the stand-ins.
  ProcessResult check() const {
    return run({"/bin/bash", "-c", "export SCRIPT=$$; exec \"$0\" run --small \"$1\"",
                path("gpu_check.sh"), path("results")});
  }
  // Sections in results.json, in their order, each once.
  std::vector<std::string> sections() const {
    std::vector<std::string> names;
    const Json results = Json::parse(read_file("results/results.json"));
    for (const Json& row : results["results"]) {
      if (names.empty() || names.back() != row["section"]) names.push_back(row["section"]);
    }
    return names;
  }
};

TEST_F(GpuCheckScript, WhatMattersMostComesFirst) {
  write_gpu_check("");
  const ProcessResult result = check();
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  EXPECT_EQ(sections(), (std::vector<std::string>{"devices", "peaks", "train", "optimizer",
                                                  "parity", "golden", "roots", "attention-own",
                                                  "attention-cudnn", "sanitizer", "train-own"}));
  const Json results = Json::parse(read_file("results/results.json"));
  EXPECT_EQ(results["card"], "says \"1\\2\"");
  EXPECT_EQ(results["results"][1]["name"], "says \"1\\2\"");
}

TEST_F(GpuCheckScript, OneThatIsKilledLeavesTheSectionsThatEnded) {
  write_gpu_check("[ $1 != optimizer ] || kill -9 $SCRIPT");
  EXPECT_EQ(check().exit_code, 128 + SIGKILL);
  EXPECT_EQ(sections(), (std::vector<std::string>{"devices", "peaks", "train"}));
}

TEST_F(GpuCheckScript, ASectionThatCrashesLeavesTheOthersAlone) {
  write_gpu_check("[ $1 != peaks ] || kill -9 $$");
  const ProcessResult result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(sections().size(), 11u);
  EXPECT_EQ(Json::parse(read_file("results/results.json"))["results"][1]["status"], "FAIL");
  EXPECT_NE(result.output.find("1 failed"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace dashlm::testing
