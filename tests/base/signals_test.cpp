#include "base/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dashlm {
namespace {

class Signals : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
};

TEST_F(Signals, TheFirstOnlySetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM}) {
    catch_stop_signals();
    EXPECT_EQ(stop_signal(), 0);
    std::raise(signal);
    EXPECT_EQ(stop_signal(), signal);
  }
  catch_stop_signals();
  EXPECT_EQ(stop_signal(), 0);
}

void raise_two(int first, int second) {
  catch_stop_signals();
  std::raise(first);
  std::raise(second);
}

TEST_F(Signals, TheSecondEndsTheProcess) {
  EXPECT_EXIT(raise_two(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_two(SIGTERM, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(raise_two(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(raise_two(SIGTERM, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

TEST_F(Signals, OthersAreNotCaught) {
  EXPECT_EXIT(raise_two(SIGHUP, SIGHUP), ::testing::KilledBySignal(SIGHUP), "");
}

}  // namespace
}  // namespace dashlm
