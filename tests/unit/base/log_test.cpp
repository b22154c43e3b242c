#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace dashlm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TempFolder;

class Log : public ::testing::Test {
 protected:
  void TearDown() override { spdlog::set_default_logger(before_); }

  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  TempFolder folder_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(Log, FileGetsMessagesAtOnceAndIsAppendedTo) {
  const std::string path = folder_ / "log.txt";
  init_logging(false);
  log_to_file(path);
  spdlog::info("first {}", 1);
  EXPECT_THAT(read(path), HasSubstr("info first 1"));
  init_logging(false);
  log_to_file(path);
  spdlog::warn("second");
  EXPECT_THAT(read(path), HasSubstr("info first 1"));
  EXPECT_THAT(read(path), HasSubstr("warning second"));
}

TEST_F(Log, QuietSilencesTheTerminalOnly) {
  const std::string path = folder_ / "log.txt";
  ::testing::internal::CaptureStderr();
  init_logging(true);
  log_to_file(path);
  spdlog::info("chatter");
  spdlog::warn("careful");
  spdlog::error("broken");
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(shown, Not(HasSubstr("chatter")));
  for (const char* message : {"careful", "broken"}) EXPECT_THAT(shown, HasSubstr(message));
  for (const char* message : {"chatter", "careful", "broken"}) {
    EXPECT_THAT(read(path), HasSubstr(message));
  }
}

TEST_F(Log, HalfALineIsEnded) {
  const std::string path = folder_ / "log.txt";
  std::ofstream(path) << "whole\nha";
  init_logging(true);
  log_to_file(path);
  spdlog::info("new");
  EXPECT_THAT(read(path), HasSubstr("whole\nha\n2"));  // the year
  init_logging(true);
  log_to_file(path);
  spdlog::info("newer");
  EXPECT_THAT(read(path), Not(HasSubstr("\n\n")));
}

TEST_F(Log, SomeMessagesAreForFilesOnly) {
  const std::string path = folder_ / "log.txt";
  ::testing::internal::CaptureStderr();
  init_logging(false);
  log_in_files("too early");
  log_to_file(path);
  log_in_files("step {1}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(read(path), HasSubstr("info step {1}"));
}

TEST_F(Log, AFileThatCannotBeOpenedIsNamed) {
  init_logging(false);
  testing::expect_runtime_failure({folder_.path()}, [&] { log_to_file(folder_.path()); });
}

}  // namespace
}  // namespace dashlm
