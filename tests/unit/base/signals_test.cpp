#include "base/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dashlm {
namespace {

class Signals : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {
    for (const int each : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) std::signal(each, SIG_DFL);
  }
};

TEST_F(Signals, TheFirstOnlySetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
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
  EXPECT_EXIT(raise_two(SIGUSR2, SIGUSR2), ::testing::KilledBySignal(SIGUSR2), "");
}

// Launchers of ranks send more than one.
TEST_F(Signals, RanksTakeAnyNumber) {
  catch_stop_signals(/*as_rank=*/true);
  for (const int signal : {SIGTERM, SIGTERM, SIGINT}) std::raise(signal);
  EXPECT_EQ(stop_signal(), SIGINT);
}

TEST_F(Signals, WhatNohupIgnoresStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  catch_stop_signals();
  std::raise(SIGHUP);
  EXPECT_EQ(stop_signal(), 0);
}

}  // namespace
}  // namespace dashlm
