// What a person sees of a run on a terminal, and that log.txt does not depend on it.
#include <cstdlib>
#include <regex>
#include <sstream>

#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

class TerminalTest : public RunTest {
 protected:
  std::string shown_on(int columns, const std::vector<std::string>& extra = {},
                       const std::function<void()>& prepare = {}) const {
    std::filesystem::remove_all(out());
    return run_on_terminal(train_command(extra), columns, prepare);
  }

  // "step 5/24  loss 3.8954" of each line about a step; the rest of it depends on the time.
  static std::vector<std::string> steps_of(const std::string& text) {
    const std::regex step("step \\d+/\\d+  loss [\\d.]+");
    return {std::sregex_token_iterator(text.begin(), text.end(), step), {}};
  }

  static std::vector<std::string> bars_of(const std::string& shown) {
    const std::regex bar("\r\x1b\\[K((?!\\d\\d:)[^\r\n\x1b]+)");  // messages begin with the time
    return {std::sregex_token_iterator(shown.begin(), shown.end(), bar, 1), {}};
  }
};

TEST_F(TerminalTest, TheBarIsNarrowerThanTheTerminal) {
  for (const int columns : {20, 40, 80, 200}) {
    const std::vector<std::string> bars = bars_of(shown_on(columns));
    EXPECT_FALSE(bars.empty());
    for (const std::string& bar : bars) {
      EXPECT_LT(bar.size(), static_cast<size_t>(columns)) << bar;
      EXPECT_NE(bar.find("step "), std::string::npos) << bar;
    }
  }
}

TEST_F(TerminalTest, MessagesStandOnLinesOfTheirOwn) {
  std::istringstream lines(shown_on(200));
  int messages = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t message = line.find("checkpoint ");
    if (message == std::string::npos) continue;
    ++messages;
    const size_t step = line.rfind("step ", message), erased = line.rfind("\x1b[K", message);
    EXPECT_TRUE(step == std::string::npos || (erased != std::string::npos && step < erased))
        << line;
  }
  EXPECT_EQ(messages, 5);
}

TEST_F(TerminalTest, LogTxtHasTheSameStepsWithAndWithoutABar) {
  ASSERT_EQ(train({"--out", path("plain")}).exit_code, 0);
  const std::vector<std::string> expected = steps_of(read_file("plain/log.txt"));
  EXPECT_EQ(expected.size(), 6u);  // 1, 5, 10, 15, 20, 24
  shown_on(80);
  EXPECT_EQ(steps_of(read_file("run/log.txt")), expected);
  const std::string quiet = shown_on(80, {"--quiet"});
  EXPECT_EQ(quiet, "");
  EXPECT_EQ(steps_of(read_file("run/log.txt")), expected);
}

TEST_F(TerminalTest, ADumbTerminalGetsPlainLinesAndNoColorNoColours) {
  const std::string dumb = shown_on(80, {}, [] { setenv("TERM", "dumb", 1); });
  EXPECT_EQ(dumb.find('\x1b'), std::string::npos) << dumb;
  EXPECT_EQ(steps_of(dumb).size(), 6u);
  const std::regex color("\x1b\\[[0-9;]*m");
  EXPECT_TRUE(std::regex_search(shown_on(80), color));
  const std::string plain = shown_on(80, {}, [] { setenv("NO_COLOR", "1", 1); });
  EXPECT_FALSE(std::regex_search(plain, color));
  EXPECT_FALSE(bars_of(plain).empty());
}

}  // namespace
}  // namespace dashlm::testing
