// What the pages tell a reader to type works, on small stand-ins for the data.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "system/cli/run_fixture.h"
#include "unit/data/prose.h"

namespace dashlm::testing {
namespace {

namespace fs = std::filesystem;

std::string page(const std::string& name) {
  std::ifstream file(std::string(DASHLM_SOURCE_DIR) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The commands in the code blocks of a section, from its heading to the next one.
std::vector<std::string> commands_of(const std::string& text, const std::string& heading) {
  std::istringstream lines(text.substr(std::min(text.find("\n" + heading + "\n"), text.size())));
  std::vector<std::string> commands;
  bool code = false;
  std::string line;
  for (int64_t i = 0; std::getline(lines, line); ++i) {
    if (i > 1 && !code && line.starts_with("## ")) break;
    if (line.starts_with("```")) code = !code;
    if (code && line.starts_with("dashlm ")) commands.push_back(line);
  }
  return commands;
}

class DocsTest : public RunTest {
 protected:
  // One line of a shell, in the test's directory.
  ProcessResult shell(const std::string& line) const {
    const std::string programs = fs::path(DASHLM_BINARY).parent_path().string();
    return run(
        {"/bin/bash", "-c",
         "cd '" + directory_.string() + "' && export PATH='" + programs + "':$PATH && " + line});
  }
  void write_texts(const std::string& name, int64_t first, int64_t count) const {
    std::string lines;
    for (int64_t i = first; i < first + count; ++i) {
      lines += Json{{"text", test::prose(i, 60)}, {"url", "http://example.org"}}.dump() + "\n";
    }
    write_file(name, lines);
    ASSERT_EQ(shell("gzip '" + name + "'").exit_code, 0);
  }
};

TEST_F(DocsTest, TheCommandsForC4EndInATrainingRun) {
  fs::create_directories(directory_ / "c4/en");
  fs::copy(DASHLM_SOURCE_DIR "/configs", directory_ / "configs");  // paths in them start from there
  write_texts("c4/en/c4-train.00000-of-01024.json", 0, 40);
  write_texts("c4/en/c4-train.00001-of-01024.json", 40, 40);
  write_texts("c4/en/c4-validation.00000-of-00008.json", 80, 10);
  ASSERT_EQ(shell("dashlm tokenize c4/en --train-tokenizer 400 --out other && "
                  "cp other/tokenizer.model .")
                .exit_code,
            0);
  // As large as needed to be the same thing.
  const std::string tiny =
      " --set model.n_layer=1 --set model.d_model=16 --set model.n_head=2 --set model.d_ff=32"
      " --set model.vocab_size=400 --set model.seq_len=16 --set train.batch=4 --set "
      "train.micro_batch=2 --set train.steps=3"
      " --set train.precision=fp32 --set device=" DASHLM_TEST_DEVICE;
  const std::vector<std::string> commands = commands_of(page("docs/data.md"), "## C4");
  ASSERT_GE(commands.size(), 3u);
  for (const std::string& command : commands) {
    const bool trains = command.starts_with("dashlm train ");
    const ProcessResult result = shell(command + (trains ? tiny : ""));
    ASSERT_EQ(result.exit_code, 0) << command << "\n" << result.errors;
  }
  ASSERT_TRUE(commands.back().starts_with("dashlm train "));
  int64_t finished = 0;
  for (const auto& entry : fs::directory_iterator(directory_ / "runs")) {
    finished += std::ssize(metrics(entry.path().string(), "final"));
  }
  EXPECT_EQ(finished, 1);
}

}  // namespace
}  // namespace dashlm::testing
