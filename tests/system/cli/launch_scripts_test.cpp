// Which program scripts/build.sh makes and scripts/launch start, on machines with and without a
// GPU: a copy of the scripts, with stand-ins for what they call.
#include <gmock/gmock.h>

#include <cstdlib>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace fs = std::filesystem;
namespace {

using ::testing::HasSubstr;

class LaunchScripts : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    fs::copy(DASHLM_SOURCE_DIR "/scripts", directory_ / "scripts", fs::copy_options::recursive);
    // setup.sh asks the stand-in for nvcc about the toolkit, but installs nothing.
    const std::string setup = read_file("scripts/setup.sh");
    write_program("scripts/setup.sh",
                  "case \" $* \" in *has-cuda*) exec bash \"$0.real\" --has-cuda;;"
                  " esac; echo setup \"$*\"");
    write_file("scripts/setup.sh.real", setup);
    write_program("bin/cmake", "echo cmake \"$*\"");
    write_program("bin/mpirun", "while [ \"${1##*/}\" != rank.sh ]; do shift; done; exec \"$@\"");
    write_program("bin/srun", "while [ \"${1##*/}\" != rank.sh ]; do shift; done; exec \"$@\"");
    set_gpu(false);
    set_toolkit("");
  }

  void write_program(const std::string& name, const std::string& body) const {
    fs::create_directories((directory_ / name).parent_path());
    write_file(name, "#!/bin/bash\n" + body + "\n");
    fs::permissions(directory_ / name, fs::perms::owner_all);
  }
  void set_gpu(bool there) const {
    write_program("bin/nvidia-smi", there ? "echo 'GPU 0: NVIDIA H100'" : "exit 9");
  }
  void set_toolkit(const std::string& version) const {
    write_program("bin/nvcc", version.empty() ? "exit 127"
                                              : "echo 'Cuda compilation tools, release " + version +
                                                    ", V" + version + ".1'");
  }
  void make_builds(const std::vector<std::string>& presets) const {
    fs::remove_all(directory_ / "build");
    for (const std::string& preset : presets) {
      write_program("build/" + preset + "/dashlm", "echo " + preset + " \"$*\"");
    }
  }
  ProcessResult script(const std::string& command) const {
    return testing::run({"/bin/bash", "-c", "cd \"$0\" && " + command, directory_.string()}, [&] {
      setenv("PATH", (path("bin") + ":" + std::getenv("PATH")).c_str(), 1);
      unsetenv("DASHLM");
    });
  }
};

TEST_F(LaunchScripts, BuildMakesTheProgramForThisMachine) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "the machine's own GPU cannot be hidden";
  const auto builds = [&](const std::string& preset) {
    const ProcessResult result = script("scripts/build.sh");
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("cmake --preset " + preset + " "));
    return result.errors;
  };
  builds("release");
  set_toolkit("13.0");
  builds("release");  // which need not take minutes for CUDA sources here
  set_gpu(true);
  EXPECT_EQ(builds("cuda"), "");
  for (const char* version : {"", "12.4"}) {
    set_toolkit(version);
    EXPECT_THAT(builds("release"), HasSubstr("no CUDA toolkit"));
  }
  EXPECT_THAT(script("scripts/build.sh cuda dashlm").output, HasSubstr("cmake --preset cuda "));
}

TEST_F(LaunchScripts, LaunchersStartTheProgramForThisMachine) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "the machine's own GPU cannot be hidden";
  const std::vector<std::string> lines = {
      "scripts/launch/one_node.sh 2 c.json --out r",
      "scripts/launch/hostfile.sh hosts c.json --out r",
      "bash scripts/launch/slurm.sbatch c.json r",
  };
  for (const std::string& line : lines) {
    const auto starts = [&](const std::string& program) {
      const ProcessResult result = script(line);
      EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.errors;
      EXPECT_THAT(result.output, HasSubstr(program + " train c.json --out r")) << line;
    };
    make_builds({"release", "cuda"});
    set_gpu(true);
    starts("cuda");
    set_gpu(false);
    starts("release");
    make_builds({"release"});
    set_gpu(true);
    starts("release");  // which says itself that it leaves the GPU alone
    make_builds({"cuda"});
    set_gpu(false);
    starts("cuda");
    make_builds({});
    const ProcessResult none = script(line);
    EXPECT_NE(none.exit_code, 0) << line;
    EXPECT_THAT(none.errors, HasSubstr("run scripts/build.sh first"));
  }
  write_program("own", "echo own \"$*\"");
  EXPECT_THAT(script("DASHLM=$PWD/own " + lines[0]).output, HasSubstr("own train c.json --out r"));
}

}  // namespace
}  // namespace dashlm::testing
