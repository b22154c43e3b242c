#include "base/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace dashlm {
namespace {

// One end of a pseudo-terminal.
class TerminalOf : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(openpty(&other_end_, &file_, nullptr, nullptr, nullptr), 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
  }
  void TearDown() override {
    close(file_);
    close(other_end_);
  }
  void resize(unsigned short columns) const {
    const winsize size = {24, columns, 0, 0};
    ASSERT_EQ(ioctl(file_, TIOCSWINSZ, &size), 0);
  }

  int file_ = -1, other_end_ = -1;
};

TEST_F(TerminalOf, WidthFollowsTheWindowAndColumnsMayMakeItLess) {
  EXPECT_EQ(columns_of(file_), 80);  // it does not know
  setenv("COLUMNS", "50", 1);
  EXPECT_EQ(columns_of(file_), 50);
  for (const unsigned short columns : {40, 200}) {
    resize(columns);
    EXPECT_EQ(columns_of(file_), columns == 40 ? 40 : 50);
  }
  setenv("COLUMNS", "nonsense", 1);
  EXPECT_EQ(columns_of(file_), 200);
}

TEST_F(TerminalOf, DumbOnesAreNotRedrawnAndNoColorForbidsColours) {
  EXPECT_TRUE(can_redraw(file_));
  EXPECT_TRUE(wants_color(file_));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(wants_color(file_));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color(file_));
  EXPECT_TRUE(can_redraw(file_));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(can_redraw(file_));
  EXPECT_FALSE(wants_color(file_));
  unsetenv("TERM");
  EXPECT_FALSE(can_redraw(file_));
}

TEST_F(TerminalOf, APipeIsNone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(can_redraw(ends[1]));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace dashlm
